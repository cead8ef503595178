//! `myriad doctor`: what the engine found on this machine with what each fallback costs, and which
//! peers outside this process are installed.

pub(crate) mod external;

use external::External;

/// What the engine found, as it tells it itself: a line each with what was found and what that
/// means.
#[cfg(feature = "ours")]
pub(crate) fn engine() -> String {
    myriad_base::platform::platform().to_string()
}

/// Nothing was found, because there is no engine to look.
#[cfg(not(feature = "ours"))]
pub(crate) fn engine() -> String {
    "engine         not in this build     build with `--features ours`\n".into()
}

/// The report as text.
pub(crate) fn report(engine: &str, external: &[External]) -> String {
    let (found, missing): (Vec<_>, Vec<_>) = external.iter().partition(|e| e.found);
    let names = |list: Vec<&External>| match list.is_empty() {
        true => "none".into(),
        false => list.iter().map(|e| e.name).collect::<Vec<_>>().join(", "),
    };
    // In line with the engine's lines, whose first column has 14 characters.
    format!("{engine}{:<14} found: {}; missing: {}\n", "other peers", names(found), names(missing))
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn other_peers_are_one_line_after_the_engine() {
        let list = [External { name: "go", found: true }, External { name: "julia", found: false }];
        assert_eq!(report("x\n", &list), "x\nother peers    found: go; missing: julia\n");
        assert!(report("", &[]).contains("found: none; missing: none"));
    }

    #[test]
    fn the_engine_says_something() {
        let text = engine();
        assert!(text.ends_with('\n') && text.lines().all(|l| l.contains("  ")), "{text}");
    }
}
