//! How many processors each of some equal jobs is to have.

/// How many of `cpus` processors each of `jobs` equal jobs should ask for, so that the last is done
/// soonest; at most `most`, and at least 1.
///
/// It reckons with jobs that take the `n`-th part of the time on `n` processors. With `n` each,
/// `cpus / n` run at a time, one round after the other. Of numbers that are equally good it is the
/// smallest, with which the jobs lose least where they do not scale so well. Processors that other
/// jobs are to have are not in `cpus`; where jobs do not scale beyond some number, that is `most`.
///
/// # Complexity
/// In the smaller one of `cpus` and `most`.
///
/// # Examples
/// ```
/// use myriad::jobs::{Job, Local, cpus_per_job};
/// assert_eq!(cpus_per_job(1, 8, 4), 4); // one has all that it can use
/// assert_eq!(cpus_per_job(4, 8, 8), 2); // all at the same time
/// assert_eq!(cpus_per_job(100, 8, 8), 2); // 25 rounds of a half: 13 of a whole take longer
/// assert_eq!(cpus_per_job(3, 8, 8), 8); // three rounds of an eighth
/// let q = Local::new().cpus(8).start();
/// let each = cpus_per_job(4, 8, 8);
/// q.submit_all((0..4).map(|_| Job::new(|| ()).cpus(each as u32)))?;
/// # q.wait_all();
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[doc(alias = "solve_optimized_ncpu")]
pub fn cpus_per_job(jobs: usize, cpus: usize, most: usize) -> usize {
    let rounds = |each: usize| jobs.max(1).div_ceil(cpus / each);
    // (Of two ratios `rounds / each` the smaller one; exact.)
    let is_better =
        |each: usize, than: usize| (rounds(each) as u128) * (than as u128) < (rounds(than) as u128) * (each as u128);
    (2..=most.min(cpus)).fold(1, |best, each| if is_better(each, best) { each } else { best })
}

#[cfg(test)]
mod test {
    use super::cpus_per_job;

    /// Against the times themselves, in a unit that all numbers of processors divide.
    #[test]
    fn no_other_number_is_better() {
        const UNIT: usize = 720_720; // up to 16
        let time = |jobs: usize, cpus: usize, each: usize| {
            let (mut left, mut time) = (jobs, 0);
            while left > 0 {
                left -= left.min(cpus / each);
                time += UNIT / each;
            }
            time
        };
        for (jobs, cpus, most) in (1..40).flat_map(|j| (1..=16).flat_map(move |c| (1..=16).map(move |m| (j, c, m)))) {
            let each = cpus_per_job(jobs, cpus, most);
            assert!((1..=most.min(cpus)).contains(&each));
            let best = (1..=most.min(cpus)).min_by_key(|each| time(jobs, cpus, *each)).unwrap();
            assert_eq!(each, best, "{jobs} jobs, {cpus} cpus, at most {most}");
        }
    }

    #[test]
    fn ends_of_the_ranges() {
        assert_eq!(
            [cpus_per_job(0, 0, 0), cpus_per_job(5, 0, 3), cpus_per_job(5, 3, 0), cpus_per_job(0, 4, 4)],
            [1, 1, 1, 4]
        );
        assert_eq!(cpus_per_job(usize::MAX, 8, usize::MAX), 8);
    }
}
