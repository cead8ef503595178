use super::*;
use crate::queue::records::{Random, TestRecord, pointer, records, runnable};
use crate::record::header::Kind;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::*};

fn table() -> &'static Table {
    Box::leak(Box::new(Table::new()))
}

fn put(table: &'static Table, task: &TestRecord, arrival: Arrival) {
    assert_eq!(table.put(None, runnable(task), arrival), None);
}

/// Delivers all there is.
fn delivered(table: &'static Table) -> Vec<(ReadyTask, Cause)> {
    let (mut all, mut batch) = (Vec::new(), Batch::default());
    loop {
        let more = table.deliver(&mut batch, false);
        all.extend(batch.iter_mut().filter_map(Option::take));
        if !more {
            return all;
        }
    }
}

fn index(all: &[TestRecord], task: Option<Runnable>) -> Option<usize> {
    let task = task?;
    all.iter().position(|record| pointer(record) == task.address())
}

/// In the order of arrival, with the causes; what goes on at once comes before all.
#[test]
fn tickets_come_in_order() {
    let (table, mut all) = (table(), records(20));
    all[2].set_kind(Kind::FUTURE);
    put(table, &all[0], Arrival::Spawned(null_mut()));
    put(table, &all[1], Arrival::Outside);
    put(table, &all[2], Arrival::Woken);
    put(table, &all[3], Arrival::Last);
    put(table, &all[4], Arrival::Next);
    all[5..].iter().for_each(|task| put(table, task, Arrival::Outside));
    let tickets = delivered(table);
    let causes: Vec<_> = tickets.iter().map(|ticket| ticket.1).collect();
    assert_eq!(causes[..5], [Cause::Continues, Cause::Spawned, Cause::Spawned, Cause::Woken, Cause::Yielded]);
    assert!(causes[5..].iter().all(|cause| *cause == Cause::Spawned) && causes.len() == 20);
    assert_eq!(tickets.iter().filter(|ticket| ticket.0.is_future()).count(), 1);
    let redeemed: Vec<_> = tickets.into_iter().map(|ticket| index(&all, ticket.0.redeem(table)).unwrap()).collect();
    assert!(redeemed.into_iter().eq([4, 0, 1, 2, 3].into_iter().chain(5..20)));
    assert!((&table).is_empty());
}

/// A ticket is good for its own task, once: not for one that was claimed, taken or filed anew, nor
/// for a later one in the same slot, nor at another table.
#[test]
fn stale_tickets() {
    let (table, all) = (table(), records(6));
    all[..4].iter().for_each(|task| put(table, task, Arrival::Outside));
    let mut tickets: Vec<_> = delivered(table).into_iter().map(|ticket| ticket.0).collect();
    assert!((&table).claim(&all[1]).is_some() && (&table).claim(&all[1]).is_none());
    assert_eq!(index(&all, (&table).take(0, None)), Some(0));
    assert_eq!(tickets.iter().map(ReadyTask::is_stale).collect::<Vec<_>>(), [true, true, false, false]);
    // They take the slots of the two.
    put(table, &all[4], Arrival::Outside);
    put(table, &all[5], Arrival::Outside);
    let again = delivered(table);
    assert!(tickets.remove(1).redeem(table).is_none() && tickets.remove(0).redeem(table).is_none());
    assert!(again.iter().all(|ticket| !ticket.0.is_stale()));
    // At another table: it goes back, and first.
    assert!(tickets.remove(1).redeem(self::table()).is_none());
    assert_eq!(index(&all, (&table).take(0, None)), Some(3));
    let version = table.state.first();
    drop(again);
    assert!((&table).has_new(version), "what is dropped counts");
    assert_eq!([(); 3].map(|()| index(&all, (&table).take(0, None))), [Some(4), Some(5), Some(2)]);
    assert!((&table).is_empty() && tickets.remove(0).redeem(table).is_none());
}

/// A changed property makes a queued task fresh again.
#[test]
fn a_property_is_changed() {
    let (table, all) = (table(), records(3));
    for (i, task) in all.iter().enumerate() {
        task.flags().fetch_or(TaskFlags::NAMED, Relaxed);
        assert!(matches!(table.set_property(task, PropertyValue::new(i)), (None, false)));
        put(table, task, Arrival::Outside);
    }
    assert!(matches!(table.set_property(&all[0], PropertyValue::new(10usize)), (Some(_), false)));
    let tickets = delivered(table);
    assert_eq!(tickets.iter().map(|ticket| *ticket.0.property::<usize>().unwrap()).collect::<Vec<_>>(), [10, 1, 2]);
    assert!(tickets[0].0.property::<u32>().is_none());
    assert!(matches!(table.set_property(&all[1], PropertyValue::new(11usize)), (Some(_), true)));
    assert!(tickets[1].0.is_stale() && !tickets[2].0.is_stale());
    let changed = delivered(table);
    assert_eq!((changed[0].1, changed[0].0.property()), (Cause::Changed, Some(&11usize)));
    assert_eq!(changed.len(), 1);
    tickets.into_iter().chain(changed).for_each(|ticket| _ = ticket.0.redeem(table));
    assert!((&table).is_empty() && all.iter().all(|task| table.forget(pointer(task).addr()).is_some()));
    assert!(table.forget(pointer(&all[0]).addr()).is_none());
}

/// Threads put, deliver, redeem, drop, claim and take at a time: each task is had once.
#[test]
fn each_is_had_once() {
    let (table, had, all) = (table(), AtomicUsize::new(0), records(3 * 2000));
    let taken: Vec<AtomicBool> = all.iter().map(|_| AtomicBool::new(false)).collect();
    let have = |task: Option<Runnable>| {
        if let Some(i) = index_in(&all, task) {
            assert!(!taken[i].swap(true, Relaxed));
            had.fetch_add(1, Relaxed);
        }
    };
    std::thread::scope(|scope| {
        for (worker, mine) in all.chunks(2000).enumerate() {
            let (all, have) = (&all, &have);
            scope.spawn(move || {
                let (mut random, mut batch) = (Random(worker as u64 + 1), Batch::default());
                let mut tickets: Vec<ReadyTask> = Vec::new();
                for task in mine {
                    put(table, task, Arrival::Outside);
                    match random.below(4) {
                        0 => {
                            table.deliver(&mut batch, true);
                            tickets.extend(batch.iter_mut().filter_map(Option::take).map(|ticket| ticket.0));
                        }
                        1 => have((&table).claim(&all[random.below(all.len())]).map(Runnable::from)),
                        2 if !tickets.is_empty() => {
                            let ticket = tickets.swap_remove(random.below(tickets.len()));
                            if random.below(4) == 0 { drop(ticket) } else { have(ticket.redeem(table)) }
                        }
                        _ => have((&table).take(worker, None)),
                    }
                }
            });
        }
    });
    while !(&table).is_empty() {
        have((&table).take(0, None));
    }
    assert_eq!(had.load(Relaxed), all.len());
}

/// Where it stands in the list, by its address.
fn index_in(all: &[TestRecord], task: Option<Runnable>) -> Option<usize> {
    let address = task?.into_raw().addr();
    Some((address - pointer(&all[0]).addr()) / size_of::<TestRecord>())
}
