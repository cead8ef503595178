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

/// The report as a JSON object: what the engine found, and which peers are installed.
pub(crate) fn json(external: &[External]) -> String {
    let peers: serde_json::Map<_, _> = external.iter().map(|e| (e.name.to_owned(), e.found.into())).collect();
    format!("{}\n", serde_json::json!({ "version": env!("CARGO_PKG_VERSION"), "engine": found(), "peers": peers }))
}

#[cfg(feature = "ours")]
fn found() -> serde_json::Value {
    use myriad_base::platform::GuardKind;
    let p = myriad_base::platform::platform();
    serde_json::json!({
        "os": p.os, "kernel": p.kernel, "arch": p.arch, "cpus": p.cpus, "quota": p.quota, "workers": p.workers,
        "pinning": p.pinning, "fibers": p.fibers, "membarrier": p.membarrier,
        "membarrier_forbidden": p.membarrier_forbidden,
        "guard_pages": if p.guard_pages == GuardKind::Mprotect { "mprotect" } else { "install" },
        "guard_install_forbidden": p.guard_install_forbidden, "max_map_count": p.max_map_count,
        "mappings_of_thread": p.mappings_of_thread, "page_size": p.page_size, "max_threads": p.max_threads,
    })
}

#[cfg(not(feature = "ours"))]
fn found() -> serde_json::Value {
    serde_json::Value::Null
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
