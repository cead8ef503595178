//! From options to runs: which groups, which systems in each, and what is refused.

use myriad_bench::{Entry, Form, Mode, OURS, Params, Published, Takes, Workload};

use super::{overview, scaling};
use crate::args::BenchOptions;

/// Runs that are compared with each other: one workload and form, one number of workers, several
/// systems.
#[derive(Debug)]
pub(crate) struct Group {
    /// The workload.
    pub(crate) workload: &'static Workload,
    /// The form.
    pub(crate) form: &'static Form,
    /// The workers.
    pub(crate) workers: usize,
    /// One for each system, ours first if it is there.
    pub(crate) runs: Vec<Params>,
    /// What others have published, unless systems were asked for by name.
    pub(crate) published: Vec<&'static Published>,
}

impl Group {
    fn new(
        o: &BenchOptions,
        workload: &'static Workload,
        form: &'static Form,
        workers: usize,
        runs: Vec<Params>,
    ) -> Group {
        let n = runs.first().filter(|_| o.system.is_empty()).map(|first| first.n);
        let published = n.map_or_else(Vec::new, |n| myriad_bench::published(workload, form, n));
        Group { workload, form, workers, runs, published }
    }

    /// What this is, in a few words.
    pub(crate) fn title(&self) -> String {
        format!("{} {}, {}", self.workload.name, self.form.name, pool(self.workers))
    }

    /// The table entry of a run of this group.
    pub(crate) fn entry(&self, params: &Params) -> &'static Entry {
        self.form.entry(self.workload, &params.system).expect("the plan took it from this form")
    }
}

/// So many workers, in words.
pub(crate) fn pool(workers: usize) -> String {
    format!("{workers} worker{}", if workers == 1 { "" } else { "s" })
}

/// Each worker is a thread. Some peers start as many as they are told to, until the machine has no
/// memory left.
const MOST_WORKERS: usize = 1024;

/// Makes the groups that `options` ask for, on a machine with `cores`.
///
/// # Errors
///
/// One line that says what is impossible and what would be possible.
pub(crate) fn plan(options: &BenchOptions, cores: usize) -> Result<Vec<Group>, String> {
    check_alone(options)?;
    let chosen: Vec<_> = myriad_bench::workloads().iter().filter(|w| is_chosen(w, options)).copied().collect();
    for workload in &chosen {
        check_with(options, workload)?;
    }
    let workers = match &options.workers[..] {
        [] if options.scaling => scaling::workers(cores),
        [] if cores > 1 => vec![1, cores],
        [] => vec![1],
        asked => asked.to_vec(),
    };
    let mut groups = Vec::new();
    if options.is_screen() {
        let workers = workers.into_iter().max().expect("there is one at least");
        for (workload, form, n) in overview::rows(options.all || options.full) {
            let n = n.filter(|_| !options.full);
            let runs = runs(&BenchOptions { n, ..options.clone() }, workload, form, workers)?;
            if runs.iter().any(Params::is_ours) || !cfg!(feature = "ours") && !runs.is_empty() {
                groups.push(Group::new(options, workload, form, workers, runs));
            }
        }
        return Ok(groups);
    }
    for workload in chosen {
        for form in workload.forms.iter().filter(|f| is_wanted(workload, f, options)) {
            for &workers in &workers {
                let runs = runs(options, workload, form, workers)?;
                if !runs.is_empty() {
                    groups.push(Group::new(options, workload, form, workers, runs));
                }
            }
        }
    }
    if groups.is_empty() {
        return Err(nothing_left(options));
    }
    Ok(groups)
}

fn is_chosen(workload: &Workload, options: &BenchOptions) -> bool {
    options.workload.as_ref().is_none_or(|name| workload.name == *name)
}

fn is_wanted(workload: &Workload, form: &Form, options: &BenchOptions) -> bool {
    let all = options.workload.is_some() || !options.scaling;
    (all || scaling::has_form(workload.name, form.name)) && options.form.as_ref().is_none_or(|name| form.name == *name)
}

/// Refuses options that make no sense whatever the workload is.
fn check_alone(o: &BenchOptions) -> Result<(), String> {
    if o.workers.contains(&0) {
        return Err("--workers must be at least 1".into());
    }
    if let Some(workers) = o.workers.iter().find(|&&workers| workers > MOST_WORKERS) {
        return Err(format!(
            "{workers} workers are too many; the most is {MOST_WORKERS}, and more than cores say little"
        ));
    }
    if o.runs == 0 {
        return Err("--runs must be at least 1".into());
    }
    if o.timeout == 0 {
        return Err("--timeout must be at least 1 second".into());
    }
    if o.mode.is_some() && !o.system.is_empty() && !o.system.iter().any(|s| s == OURS) {
        return Err(format!("--mode is how the tasks of `{OURS}` wait; add {OURS} to --system, or leave --mode out"));
    }
    if o.policy.is_some() && !o.system.is_empty() && !o.system.iter().any(|s| s == OURS) {
        return Err(format!(
            "--policy is what the workers of `{OURS}` start next; add {OURS} to --system, or leave it out"
        ));
    }
    if o.live && o.system != [OURS] {
        return Err(format!("--live counts the tasks of `{OURS}` only; say --system {OURS}"));
    }
    if o.n.is_some() && o.workload.is_none() {
        return Err("--n means something else for each workload; name one, as in `myriad bench chain --n 1000`".into());
    }
    if o.n.is_some() && o.full {
        return Err("--full and --n are two sizes; give one of them".into());
    }
    let built = |name: &str| entries().any(|e| e.system == name && e.is_built());
    match o.system.iter().find(|name| !built(name)) {
        Some(name) if name == OURS => Err(format!("{name} is not in this build; build with `--features ours`")),
        Some(name) => Err(format!("{name} is not in this build; build with `--features peers`")),
        None => Ok(()),
    }
}

fn entries() -> impl Iterator<Item = &'static Entry> {
    myriad_bench::workloads().iter().flat_map(|w| w.forms).flat_map(|f| f.entries)
}

/// Refuses options that this workload does not take.
fn check_with(o: &BenchOptions, workload: &'static Workload) -> Result<(), String> {
    // Without a named workload, an option restricts the run to the workloads that take it.
    let named = o.workload.is_some();
    let refuse = |given: bool, option: &str, takes: fn(&Takes) -> bool| match named && given && !takes(&workload.takes)
    {
        true => Err(format!("{} takes no {option}; only {}", workload.name, who(takes))),
        false => Ok(()),
    };
    refuse(o.m.is_some(), "--m", |takes| takes.m)?;
    refuse(o.payload.is_some(), "--payload", |takes| takes.payload)?;
    refuse(o.buffer.is_some(), "--buffer", |takes| takes.buffer)?;
    if !named {
        return Ok(());
    }
    let forms: Vec<_> = match &o.form {
        Some(name) => vec![workload.form(name)?],
        None => workload.forms.iter().collect(),
    };
    for system in &o.system {
        if !forms.iter().any(|f| f.entries.iter().any(|e| e.system == *system)) {
            return Err(no_system(workload, &forms, system));
        }
    }
    Ok(())
}

/// Which workloads take an option: "relay does", "relay and lock do".
fn who(takes: fn(&Takes) -> bool) -> String {
    let names: Vec<_> = myriad_bench::workloads().iter().filter(|w| takes(&w.takes)).map(|w| w.name).collect();
    match &names[..] {
        [one] => format!("{one} does"),
        [others @ .., last] => format!("{} and {last} do", others.join(", ")),
        [] => unreachable!("each option is for some workload"),
    }
}

fn no_system(workload: &Workload, forms: &[&Form], system: &str) -> String {
    let has = forms.iter().map(|form| {
        let names: Vec<_> = form.entries.iter().map(|e| e.system).collect();
        format!("{} {}: {}", workload.name, form.name, names.join(", "))
    });
    format!("{system} does not do that; there are: {}", has.collect::<Vec<_>>().join("; "))
}

fn nothing_left(o: &BenchOptions) -> String {
    let forms: Vec<_> = myriad_bench::workloads().iter().flat_map(|w| w.forms).map(|f| f.name).collect();
    if let Some(form) = o.form.as_ref().filter(|name| !forms.contains(&name.as_str())) {
        let mut names = Vec::new();
        forms.into_iter().for_each(|name| {
            if !names.contains(&name) {
                names.push(name)
            }
        });
        return format!("there is no form `{form}`; there are: {}", names.join(", "));
    }
    "no workload fits all these options; leave some out".into()
}

/// The runs of one group; none, if an option restricts the overall run to other workloads.
fn runs(o: &BenchOptions, w: &'static Workload, form: &'static Form, workers: usize) -> Result<Vec<Params>, String> {
    let takes = w.takes;
    if o.m.is_some() && !takes.m || o.payload.is_some() && !takes.payload || o.buffer.is_some() && !takes.buffer {
        return Ok(Vec::new());
    }
    let mut runs = Vec::new();
    for entry in form.entries {
        let named = o.system.iter().any(|s| s == entry.system);
        // (What is outside has to be built, and the overview is not to wait for that.)
        let shown = o.workload.is_some() || !entry.outside && (!o.scaling || scaling::has_system(entry.system));
        let wanted = if o.system.is_empty() { entry.is_built() && !entry.extra && shown } else { named };
        // What has one worker is left out beside larger pools, unless that is all that was asked
        // for.
        let misfit = entry.single && workers != 1 && !(named && o.workers.len() == 1);
        if !wanted || misfit {
            continue;
        }
        for mode in modes(o, entry) {
            let params = params(o, w, form, entry.system, workers, mode);
            params.entry()?;
            check_size(&params, w)?;
            runs.push(params);
        }
    }
    Ok(runs)
}

/// The modes in which a system runs: ours as the library does by default, and with fibers too,
/// where closures wait.
fn modes(o: &BenchOptions, entry: &Entry) -> Vec<Mode> {
    match o.mode {
        Some(mode) => vec![mode],
        // (A column for each number of workers leaves no room for both.)
        None if o.scaling => vec![Mode::Fibers],
        None if entry.waits => vec![Mode::Threads, Mode::Fibers],
        None => vec![Mode::Threads],
    }
}

/// A thousand times the published size takes hours, or all the memory of any machine.
fn check_size(p: &Params, w: &Workload) -> Result<(), String> {
    const MOST: u64 = 1000;
    for (name, size, published) in [("n", p.n, w.full.n), ("m", p.m, w.full.m)] {
        let most = published.saturating_mul(MOST);
        if size > most {
            return Err(format!(
                "{}: {name} = {size} is too much; the most is {most}, {MOST} times the published size",
                w.name
            ));
        }
    }
    Ok(())
}

fn params(o: &BenchOptions, workload: &Workload, form: &Form, system: &str, workers: usize, mode: Mode) -> Params {
    let mut p = Params::new(workload, form, system, workers);
    if o.full {
        (p.n, p.m, p.buffer) = (workload.full.n, workload.full.m, workload.full.buffer);
    }
    p.n = o.n.unwrap_or(p.n);
    p.m = o.m.unwrap_or(p.m);
    p.mode = mode;
    p.policy = o.policy.unwrap_or(p.policy);
    p.live = o.live;
    p.payload = o.payload.unwrap_or(p.payload);
    p.buffer = o.buffer.map_or(p.buffer, |b| b.0);
    p
}

#[cfg(test)]
mod test {
    use super::*;
    use crate::args::Buffer;
    use myriad_bench::{Payload, Policy};

    fn named(workload: &str) -> BenchOptions {
        BenchOptions { workload: Some(workload.into()), ..BenchOptions::default() }
    }

    fn refusal(o: BenchOptions) -> String {
        let line = plan(&o, 2).expect_err("it is impossible");
        assert!(!line.contains('\n'), "{line}");
        line
    }

    fn systems(list: &[&str]) -> Vec<String> {
        list.iter().map(|s| s.to_string()).collect()
    }

    #[cfg(feature = "peers")]
    #[test]
    fn json_without_a_workload_has_every_workload_with_one_worker_and_all_cores() {
        let all = BenchOptions { json: true, ..BenchOptions::default() };
        let groups = plan(&all, 4).expect("it is possible");
        for w in myriad_bench::workloads() {
            for workers in [1, 4] {
                assert!(groups.iter().any(|g| g.workload.name == w.name && g.workers == workers), "{}", w.name);
            }
        }
        assert!(groups.iter().all(|g| g.workers == 1 || g.runs.iter().all(|p| p.system != "tokio-current")));
        assert!(plan(&all, 1).expect("it is possible").iter().all(|g| g.workers == 1));
    }

    #[cfg(all(feature = "ours", feature = "peers"))]
    #[test]
    fn the_screen_has_all_cores_and_both_modes() {
        let groups = plan(&BenchOptions::default(), 4).expect("it is the default");
        assert!(groups.iter().all(|g| g.workers == 4));
        let modes = |name: &str, form: &str| {
            let group = groups.iter().find(|g| g.workload.name == name && g.form.name == form).expect("it is shown");
            let ours = group.runs.iter().filter(|p| p.is_ours());
            ours.map(|p| p.mode).collect::<Vec<_>>()
        };
        assert_eq!(modes("relay", "closure"), [Mode::Threads, Mode::Fibers]);
        assert_eq!(modes("fib", "join"), [Mode::Threads]);
        let all = plan(&BenchOptions { all: true, ..BenchOptions::default() }, 4).expect("it is possible");
        let forms: usize = myriad_bench::workloads().iter().map(|w| w.forms.len()).sum();
        assert!(all.len() > 2 * groups.len() - 10 && all.len() <= forms);
    }

    #[cfg(feature = "peers")]
    #[test]
    fn what_is_outside_runs_where_a_workload_or_it_is_named() {
        let has = |o: BenchOptions, system: &str| {
            let groups = plan(&o, 2).expect("it is possible");
            groups.iter().flat_map(|g| &g.runs).any(|p| p.system == system)
        };
        for all in [false, true] {
            assert!(!has(BenchOptions { all, ..BenchOptions::default() }, "tbb"));
        }
        assert!(has(BenchOptions::default(), "dag_exec"));
        assert!(has(named("graph"), "tbb") && has(named("graph"), "taskflow") && has(named("ops"), "core.async"));
        assert!(has(named("actor"), "erlang") && has(named("actor"), "elixir") && has(named("agent"), "clojure"));
        assert!(has(BenchOptions { system: systems(&["tbb"]), ..BenchOptions::default() }, "tbb"));
    }

    #[test]
    fn no_size_takes_all_the_memory() {
        assert!(refusal(BenchOptions { n: Some(u64::MAX), ..named("chain") }).contains("the most is 1000000000"));
        assert!(refusal(BenchOptions { m: Some(1 << 40), ..named("relay") }).contains("the most is 10000000"));
    }

    #[test]
    fn options_reach_the_runs() {
        let o = BenchOptions {
            n: Some(7),
            m: Some(8),
            payload: Some(Payload::Shared20),
            buffer: Some(Buffer(Some(0))),
            workers: vec![3],
            form: Some("closure".into()),
            system: systems(&["std"]),
            ..named("relay")
        };
        let groups = plan(&o, 2).expect("it is possible");
        let [group] = &groups[..] else { panic!("one group, not {groups:?}") };
        let p = &group.runs[0];
        assert_eq!((p.n, p.m, p.buffer, p.workers, p.payload), (7, 8, Some(0), 3, Payload::Shared20));
    }

    #[test]
    fn full_is_the_published_size() {
        let o = BenchOptions { full: true, system: systems(&["std"]), ..named("skynet") };
        let groups = plan(&o, 2).expect("it is possible");
        assert!(groups.iter().flat_map(|g| &g.runs).all(|p| p.n == 1_000_000));
    }

    #[test]
    fn what_is_impossible_is_said_in_one_line() {
        assert!(refusal(BenchOptions { workers: vec![0], ..named("chain") }).contains("at least 1"));
        assert!(refusal(BenchOptions { runs: 0, ..named("chain") }).contains("--runs"));
        assert!(refusal(BenchOptions { form: Some("join".into()), ..named("chain") }).contains("closure, future"));
        assert!(refusal(BenchOptions { m: Some(1), ..named("chain") }).contains("only relay"));
        assert!(refusal(BenchOptions { payload: Some(Payload::Int), ..named("fib") }).contains("only relay"));
        assert!(refusal(BenchOptions { buffer: Some(Buffer(None)), ..named("fib") }).contains("relay and lock"));
        assert!(refusal(BenchOptions { n: Some(3), ..BenchOptions::default() }).contains("name one"));
        assert!(refusal(BenchOptions { n: Some(3), full: true, ..named("chain") }).contains("--full"));
        assert!(
            refusal(BenchOptions { n: Some(30), system: systems(&["std"]), ..named("skynet") }).contains("power of 10")
        );
        let o = BenchOptions { form: Some("nothing".into()), ..BenchOptions::default() };
        assert!(refusal(o).contains("there are: closure, future"));
        let o = BenchOptions { system: systems(&["std"]), form: Some("future".into()), ..named("chain") };
        assert!(refusal(o).contains("chain future: myriad, tokio"));
    }

    #[cfg(feature = "peers")]
    #[test]
    fn a_system_with_one_worker_does_not_take_two() {
        let o = BenchOptions { system: systems(&["tokio-current"]), workers: vec![2], ..named("chain") };
        assert!(refusal(o).contains("exactly 1"));
        let o = BenchOptions { system: systems(&["tokio-current"]), ..named("chain") };
        assert!(plan(&o, 2).expect("it is possible").iter().all(|g| g.workers == 1));
    }

    #[cfg(feature = "peers")]
    #[test]
    fn a_mode_without_ours_is_refused() {
        let o = BenchOptions { mode: Some(Mode::Threads), system: systems(&["tokio"]), ..named("chain") };
        assert!(refusal(o).contains("--mode"));
        let o = BenchOptions { policy: Some(Policy::DepthFirst), system: systems(&["tokio"]), ..named("chain") };
        assert!(refusal(o).contains("--policy"));
        let o = BenchOptions { live: true, system: systems(&["tokio"]), ..named("skynet") };
        assert!(refusal(o).contains("--live"));
    }

    #[cfg(feature = "ours")]
    #[test]
    fn a_policy_reaches_our_runs() {
        let ours =
            BenchOptions { policy: Some(Policy::SharedQueue), live: true, system: systems(&[OURS]), ..named("fib") };
        let groups = plan(&ours, 2).expect("it is possible");
        assert!(groups.iter().flat_map(|g| &g.runs).all(|p| p.policy == Policy::SharedQueue && p.live));
        assert!(refusal(BenchOptions { workload: Some("chain".into()), ..ours }).contains("skynet and fib"));
    }

    #[cfg(not(feature = "peers"))]
    #[test]
    fn a_missing_peer_is_said() {
        assert!(refusal(BenchOptions { system: systems(&["tokio"]), ..named("chain") }).contains("--features peers"));
        let _ = Mode::Fibers;
    }

    #[cfg(not(feature = "ours"))]
    #[test]
    fn that_ours_is_missing_is_said() {
        assert!(refusal(BenchOptions { system: systems(&["myriad"]), ..named("chain") }).contains("--features ours"));
    }
}
