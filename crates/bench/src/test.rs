//! The table makes sense, impossible parameters are refused in one line, and records have their
//! keys.
//!
//! That every system of every form gives the right answer is tested by the command's integration
//! test, because some systems have one pool a process.

use crate::{Mode, Params, Payload, Policy, systems, workload, workloads};

fn params(name: &str, form: &str, system: &str) -> Params {
    let w = workload(name).expect("it is in the table");
    Params { form: form.into(), ..Params::new(w, &w.forms[0], system, 1) }
}

#[test]
fn names_are_unique_and_ours_is_first() {
    for (i, w) in workloads().iter().enumerate() {
        assert!(workloads()[..i].iter().all(|other| other.name != w.name), "{} twice", w.name);
        for form in w.forms {
            assert_eq!(form.entries[0].system, crate::OURS, "{} {}", w.name, form.name);
            for (k, entry) in form.entries.iter().enumerate() {
                assert!(form.entries[..k].iter().all(|other| other.system != entry.system), "{}", entry.system);
            }
        }
    }
    assert_eq!(systems()[0], crate::OURS);
}

#[test]
fn default_and_full_sizes_are_possible() {
    for w in workloads() {
        for size in [w.size, w.full] {
            let p = Params { n: size.n, m: size.m, ..Params::new(w, &w.forms[0], crate::OURS, 2) };
            assert_eq!((w.check)(&p), Ok(()));
        }
    }
}

#[test]
fn each_refusal_is_one_line_that_lists_what_is_possible() {
    let error = |p: Params| {
        let e = p.entry().expect_err("it is impossible");
        assert!(!e.contains('\n'), "{e}");
        e
    };
    assert!(error(Params { workload: "x".into(), ..params("chain", "future", "tokio") }).contains("chain, relay"));
    assert!(error(params("chain", "join", "tokio")).contains("closure, future"));
    assert!(error(params("chain", "future", "rayon")).contains("tokio, tokio-current, smol"));
    assert!(error(Params { workers: 0, ..params("chain", "future", "tokio") }).contains("at least 1"));
    assert!(error(Params { workers: 2, ..params("chain", "future", "tokio-current") }).contains("exactly 1"));
    assert!(error(Params { payload: Payload::Moved20, ..params("chain", "future", "tokio") }).contains("only relay"));
    assert!(error(Params { n: 30, ..params("skynet", "join", "tokio") }).contains("power of 10"));
    let pattern = |name, n, m| Params { n, m, ..params(name, "future", "tokio") };
    assert!(error(pattern("tree", 30, 1)).contains("power of two"));
    assert!(error(pattern("pairs", 1, 0)).contains("at least 1"));
    assert!(error(pattern("hub", 1 << 30, 1 << 30)).contains("at most"));
    assert!(error(pattern("alltoall", 1, 1)).contains("at least 2"));
}

#[test]
fn a_record_has_the_published_keys() {
    let record = crate::run(&Params { n: 10, ..params("threads", "join", "std") });
    assert!(record.ok, "{record:?}");
    let json: serde_json::Value = serde_json::from_str(&record.to_json()).expect("it is JSON");
    let keys = [
        "workload",
        "form",
        "system",
        "workers",
        "mode",
        "params",
        "ops",
        "seconds",
        "seconds_min",
        "seconds_max",
        "cpu_seconds",
        "ns_per_op",
        "bytes_per_task",
        "max_rss_bytes",
        "ok",
    ];
    for key in keys {
        assert!(json.get(key).is_some(), "{key} is missing in {json}");
    }
    assert!(json.get("error").is_none());
    assert_eq!(json["ops"], 10);
}

#[test]
fn a_failed_run_says_why() {
    let record = crate::run(&Params { n: 50_000_000, ..params("chain", "closure", "std") });
    assert!(!record.ok);
    assert!(record.cannot().expect("there are not that many threads").contains("OS threads"), "{record:?}");
}

#[test]
fn names_round_trip() {
    for mode in [Mode::Fibers, Mode::Threads] {
        assert_eq!(mode.to_string().parse(), Ok(mode));
    }
    for policy in [Policy::WorkStealing, Policy::DepthFirst, Policy::SharedQueue, Policy::RoundRobin] {
        assert_eq!(policy.to_string().parse(), Ok(policy));
        let json = serde_json::to_string(&policy).expect("it is JSON");
        assert_eq!(json, format!("\"{policy}\""));
    }
    for payload in [Payload::Int, Payload::Moved20, Payload::Shared20] {
        assert_eq!(payload.to_string().parse(), Ok(payload));
    }
}
