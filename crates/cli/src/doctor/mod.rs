//! `myriad doctor`: what the engine found on this machine, and what each fallback costs.

pub(crate) mod external;
mod found;

pub(crate) use found::Found;

use external::External;

/// A line of the report: what, what was found, what that means.
type Line = (&'static str, String, String);

/// The report as text.
pub(crate) fn report(found: &Found, external: &[External]) -> String {
    let mut text = String::new();
    for (what, value, meaning) in lines(found) {
        text += &format!("{what:<16} {value:<34} {meaning}\n").replace(" \n", "\n");
    }
    let (there, missing): (Vec<_>, Vec<_>) = external.iter().partition(|e| e.found);
    let names = |list: Vec<&External>| match list.is_empty() {
        true => "none".into(),
        false => list.iter().map(|e| e.name).collect::<Vec<_>>().join(", "),
    };
    text += &format!("{:<16} found: {}; missing: {}\n", "other peers", names(there), names(missing));
    text.lines().map(|l| format!("{}\n", l.trim_end())).collect()
}

fn lines(f: &Found) -> Vec<Line> {
    vec![
        ("system", f.system.clone(), String::new()),
        ("cores", f.cores.to_string(), workers(f)),
        ("cgroup quota", f.quota.map_or("none".into(), |q| format!("{q:.2} cores")), quota(f)),
        ("membarrier", said(f.membarrier, "yes", "no"), membarrier(f)),
        ("guard pages", said(f.guard_install, "MADV_GUARD_INSTALL", "mprotect"), guards(f)),
        ("max_map_count", f.max_map_count.map_or("not known".into(), |n| n.to_string()), maps(f)),
        ("modes", f.modes.join(", "), modes(f)),
    ]
}

fn said(known: Option<bool>, yes: &str, no: &str) -> String {
    match known {
        Some(true) => yes.into(),
        Some(false) => no.into(),
        None => "not known".into(),
    }
}

fn workers(f: &Found) -> String {
    format!("a pool has {} worker{} by default", f.cores, if f.cores == 1 { "" } else { "s" })
}

fn quota(f: &Found) -> String {
    match f.quota {
        Some(q) if q < f.cores as f64 => "fewer than the cores: workers beyond it are stopped by the kernel".into(),
        _ => "workers may use all cores".into(),
    }
}

fn membarrier(f: &Found) -> String {
    match f.membarrier {
        Some(false) => "fallback: a full fence in each spawn and each pop of a task, some 10 ns".into(),
        _ => "spawning and taking a task need no full fence".into(),
    }
}

fn guards(f: &Found) -> String {
    match f.guard_install {
        Some(false) => "fallback: two mappings a stack, so max_map_count limits the fibers".into(),
        _ => "one mapping holds many stacks".into(),
    }
}

fn maps(f: &Found) -> String {
    match (f.guard_install, f.max_map_count) {
        (Some(false), Some(n)) => format!("about {} fibers at a time", n / 2),
        _ => "does not limit the number of fibers".into(),
    }
}

fn modes(f: &Found) -> String {
    match f.modes.contains(&"fibers") {
        true => "a waiting task costs a small stack (fibers) or an OS thread (threads)".into(),
        false => "fallback: a waiting closure costs an OS thread; futures do not".into(),
    }
}

#[cfg(test)]
mod test {
    use super::*;

    fn good() -> Found {
        Found {
            system: "Linux 6.18, x86_64".into(),
            cores: 2,
            quota: None,
            membarrier: Some(true),
            guard_install: Some(true),
            max_map_count: Some(65_530),
            modes: vec!["fibers", "threads"],
        }
    }

    #[test]
    fn each_fallback_says_what_it_costs() {
        let text = report(&good(), &[]);
        assert!(!text.contains("fallback") && text.contains("MADV_GUARD_INSTALL"), "{text}");
        let poor = Found { membarrier: Some(false), guard_install: Some(false), modes: vec!["threads"], ..good() };
        let text = report(&poor, &[]);
        assert_eq!(text.matches("fallback").count(), 3, "{text}");
        assert!(text.contains("about 32765 fibers"), "{text}");
        let text = report(&Found { quota: Some(0.5), ..good() }, &[]);
        assert!(text.contains("0.50 cores") && text.contains("stopped by the kernel"), "{text}");
    }

    #[test]
    fn other_peers_are_one_line() {
        let list = [External { name: "go", found: true }, External { name: "julia", found: false }];
        let text = report(&good(), &list);
        assert!(text.ends_with("other peers      found: go; missing: julia\n"), "{text}");
    }
}
