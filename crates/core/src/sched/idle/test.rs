use super::*;
use myriad_base::sys::thread::{Distance, Topology};

/// So many workers, of which each is on a processor of this machine, and so many spares.
fn workers(machine: &Topology, spares: usize) -> &'static Workers {
    let workers: &'static Workers = Box::leak(Box::default());
    let cpus: Vec<usize> = machine.cpus().collect();
    if let Some(order) = machine.nearest_first(&cpus) {
        workers.set_nearest_first(order);
    }
    // SAFETY: nobody asks for a peer of it.
    let worker = |i| &*Box::leak(Box::new(unsafe { WorkerShared::new(workers, i, 4) }));
    workers.set_all((0..cpus.len()).map(worker).collect(), spares);
    (0..spares).for_each(|i| workers.join(worker(cpus.len() + i)));
    workers
}

fn others(workers: &'static Workers, me: usize) -> Vec<usize> {
    workers.others(workers.all()[me]).map(|other| other.index).collect()
}

/// Who looks for work comes to each of the others once, to the nearest first, and to spares last.
#[test]
fn the_nearest_first() {
    let machine = Topology::regular(2, 2, 2, 2);
    let workers = workers(&machine, 2);
    assert_eq!(others(workers, 5), [4, 6, 7, 0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17]);
    for me in 0..16 {
        let others = others(workers, me);
        let distances: Vec<Distance> = others[..15].iter().map(|&other| machine.distance(me, other)).collect();
        assert!(distances.is_sorted() && others[15..] == [16, 17], "{me}: {others:?}");
        let mut all = others.clone();
        all.extend([me]);
        all.sort_unstable();
        assert!(all.into_iter().eq(0..18));
    }
    // A spare is on no processor of its own.
    assert_eq!(others(workers, 16)[..3], [17, 0, 1]);
}

/// Where all are equally near, the next one first.
#[test]
fn a_flat_machine() {
    let workers = workers(&Topology::regular(1, 1, 4, 1), 1);
    assert_eq!(others(workers, 2), [3, 4, 0, 1]);
    assert!(workers.nearest_first().is_none());
}
