//! Groups, and the job that has the reservation.

use super::{cpus, done, starts, submit};
use crate::machine::{JobId, Machine, Request, Rules, WHOLE};
use std::collections::VecDeque;

/// 1, 14: a wide job beside another group does not starve: what of the other one starts before it
/// has passed it, as what of its own group has.
#[test]
fn r01_a_wide_job_beside_another_group() {
    let resources = [("cpu".into(), 4 * WHOLE), ("memory".into(), 0)];
    let mut m: Machine<u32> = Machine::new(Rules::default(), &resources, &[("net".into(), 4)]);
    let small = |m: &mut Machine<u32>, group| (submit(m, 0, Request { group, ..cpus(1) }), group as usize);
    let mut all: Vec<(JobId, usize)> = [0, 0, 1, 1].map(|group| small(&mut m, group)).to_vec();
    let mut running = [VecDeque::new(), VecDeque::new()];
    let note = |running: &mut [VecDeque<JobId>; 2], all: &[(JobId, usize)], started: Vec<JobId>| {
        for id in started {
            let (_, group) = all.iter().find(|job| job.0 == id).unwrap();
            running[*group].push_back(id);
        }
    };
    let first = starts(&mut m, 0);
    assert_eq!(first.len(), 4);
    note(&mut running, &all, first);
    let wide = submit(&mut m, 0, cpus(3));
    all.extend((0..40).map(|at| small(&mut m, at % 2)));
    for ended in 0..20 {
        let group = if running[ended % 2].is_empty() { 1 - ended % 2 } else { ended % 2 };
        done(&mut m, 1, running[group].pop_front().unwrap());
        let started = starts(&mut m, 1);
        if started.contains(&wide) {
            return;
        }
        note(&mut running, &all, started);
    }
    panic!("20 have ended, and the wide job waits");
}
