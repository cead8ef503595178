//! The faults.

/// What is written otherwise: in this file of `crates/`, this text, which stands there once,
/// becomes that one. `FAULT` is whether the fault is switched on.
pub(super) type Edit = (&'static str, &'static str, &'static str);

const SLOW_CLOSE: Edit = (
    "sync/src/channel/chan.rs",
    "fn end_all(&self) {",
    "fn end_all(&self) {
        (0..if FAULT { 3000 } else { 0 }).for_each(|_| std::hint::spin_loop());",
);

/// A fault's name, a part of the names of the objects whose histories show it, and how it is
/// planted. Without edits it stands in the sources already, for models.
pub(super) const FAULTS: &[(&str, &str, &[Edit])] = &[
    // (The models' step, with more time between those who are told of a close; and the next.)
    ("served-though-closed", "close bounded", &[SLOW_CLOSE]),
    (
        "timeout-though-closed",
        "closing",
        &[
            SLOW_CLOSE,
            (
                "sync/src/channel/receiver.rs",
                "Side::Receive, |state| state.try_recv(slot)) {",
                "Side::Receive, |state| if FAULT { Received::Empty } else { state.try_recv(slot) }) {",
            ),
        ],
    ),
    (
        "timeout-though-set",
        "promise",
        &[(
            "sync/src/channel/observable.rs",
            "*self.got = self.observable.take_or(",
            "if FAULT && waiter.is_none() { return false; }
        *self.got = self.observable.take_or(",
        )],
    ),
    (
        "select-late-though-closed",
        "closing",
        &[(
            "sync/src/select/blocking.rs",
            "if let Some(output) = unsafe { arms.attempt_all(order, caller, None) } {",
            "if (woken || limit.is_none() || !FAULT)
            && let Some(output) = unsafe { arms.attempt_all(order, caller, None) }
        {",
        )],
    ),
    // (With more time between a select's look and its place in line.)
    (
        "select-served-though-closed",
        "kept",
        &[
            (
                "sync/src/channel/arm.rs",
                "let (link, waiter) = self.chan.locked(caller, |state| unsafe { state.receive_or_wait(at, me) });",
                "if FAULT { std::thread::sleep(std::time::Duration::from_micros(100)) }
        let (link, waiter) = self.chan.locked(caller, |state| unsafe { state.receive_or_wait(at, me) });",
            ),
            (
                "sync/src/channel/chan/state.rs",
                "if self.is_closed() {
                return (Self::end_alone(entry, CLOSED, me), None);",
                "if self.is_closed() && !FAULT {
                return (Self::end_alone(entry, CLOSED, me), None);",
            ),
            (
                "sync/src/channel/chan/state.rs",
                "self.wait(Side::Receive, entry, me.waiter());",
                "if FAULT && self.is_closed() { return (Self::end_alone(entry, CLOSED, me), None); }
            self.wait(Side::Receive, entry, me.waiter());",
            ),
        ],
    ),
    ("no-last-try", "mutex", &[]),
    ("writer-entry-held", "rwlock", &[]),
    // (The models' step, with more time between its two looks.)
    (
        "default-at-once",
        "default",
        &[(
            "sync/src/select/order.rs",
            "number = 1 - number;",
            "(0..if FAULT { 1000 } else { 0 }).for_each(|_| std::hint::spin_loop());
            number = 1 - number;",
        )],
    ),
    (
        "limit-drops",
        "barrier",
        &[(
            "sync/src/lock/op.rs",
            "run_out(&mut this.op, caller, at, false)",
            "if FAULT { give_up(&mut this.op, caller, at) && false } else { run_out(&mut this.op, caller, at, false) }",
        )],
    ),
    ("not-given-back", "channel bounded", &[]),
    ("arm-not-given-back", "select", &[]),
    ("loan-kept", "peek", &[]),
    ("not-served", "peek", &[]),
    ("close-calls-nobody", "watch", &[]),
    ("observable-wakes-one", "promise", &[]),
    (
        "told-nobody",
        "condition",
        &[(
            "sync/src/lock/condition.rs",
            "Err(value) => Err(value),",
            "Err(value) => if FAULT { Ok(()) } else { Err(value) },",
        )],
    ),
    ("notification-lost", "condvar", &[]),
    ("wake-not-passed-on", "mutex", &[]),
    (
        "last-come-first-served",
        "stream",
        &[(
            "sync/src/channel/chan/state.rs",
            "Side::Receive => self.waiting_receivers.push(entry, waiter),",
            "Side::Receive if FAULT => self.waiting_receivers.push_first(entry, waiter),
                Side::Receive => self.waiting_receivers.push(entry, waiter),",
        )],
    ),
    (
        "given-back-behind",
        "channel unbounded",
        &[(
            "sync/src/channel/chan.rs",
            "state.buffer.push_front(slot);\n                state.has_come_back();",
            "if FAULT { state.buffer.push(slot) } else { state.buffer.push_front(slot) };\n                state.has_come_back();",
        )],
    ),
    (
        "drops-the-newest",
        "drop-oldest",
        &[(
            "sync/src/channel/chan/state.rs",
            "WhenFull::DropOldest => self.buffer.replace_first(slot),",
            "WhenFull::DropOldest if FAULT => {}\n                    WhenFull::DropOldest => self.buffer.replace_first(slot),",
        )],
    ),
    (
        "news-twice",
        "watch",
        &[(
            "sync/src/channel/watch.rs",
            "self.version = content.version;",
            "if !FAULT { self.version = content.version; }",
        )],
    ),
    (
        "missed-one-more",
        "broadcast",
        &[(
            "sync/src/channel/broadcast.rs",
            "let missed = log.first - self.next;",
            "let missed = log.first - self.next + u64::from(FAULT);",
        )],
    ),
    (
        "set-twice",
        "promise",
        &[(
            "sync/src/channel/promise.rs",
            "Some(_) => Some(value),\n        });",
            "Some(_) if FAULT => { content.replace(value).map(std::mem::forget); None }\n            Some(_) => Some(value),\n        });",
        )],
    ),
    (
        "set-for-one-more",
        "event, automatic",
        &[("sync/src/lock/event.rs", "state.set = one.is_none();", "state.set = one.is_none() || FAULT;")],
    ),
    (
        "served-for-nothing",
        "semaphore",
        &[(
            "sync/src/lock/semaphore.rs",
            "self.free -= n;\n                    Entry::end",
            "self.free -= if FAULT { 0 } else { n };\n                    Entry::end",
        )],
    ),
    (
        "permits-lost",
        "semaphore",
        &[(
            "sync/src/lock/semaphore.rs",
            "self.semaphore.give(self.n);\n        false",
            "self.semaphore.give(if FAULT { 0 } else { self.n });\n        false",
        )],
    ),
    (
        "stays-though-late",
        "barrier",
        &[("sync/src/lock/barrier.rs", "state.arrived -= 1;", "state.arrived -= usize::from(!FAULT);")],
    ),
    (
        "open-at-one",
        "wait group",
        &[(
            "sync/src/lock/countdown.rs",
            "if **count == 0 { count.all() }",
            "if **count <= usize::from(FAULT) { count.all() }",
        )],
    ),
    (
        "reads-beside-a-writer",
        "rwlock",
        &[(
            "sync/src/lock/raw_rw.rs",
            "if word & (WRITER | WAITING) != 0 {",
            "if word & (WRITER | WAITING) != 0 && !(FAULT && word == WRITER) {",
        )],
    ),
    (
        "two-turns",
        "Once",
        &[("sync/src/lock/once.rs", "RUNNING => None,", "RUNNING if !(FAULT && !self.only_wait) => None,")],
    ),
    (
        "free-at-the-first-unlock",
        "reentrant",
        &[("sync/src/lock/reentrant.rs", "if depth == 0 {", "if depth == 0 || FAULT {")],
    ),
    (
        "inserted-in-two-steps",
        "map",
        &[(
            "sync/src/shared/map.rs",
            "        let there = write(part, |table| match table.find(hash, is(&*key)) {
            Some(entry) => Some(entry.value.clone()),
            None => {",
            "        let absent = FAULT && read(part, |table| table.find(hash, is(&*key)).is_none());
        if absent { (0..300).for_each(|_| std::hint::spin_loop()) }
        let there = write(part, |table| match table.find(hash, is(&*key)) {
            Some(entry) if !absent => Some(entry.value.clone()),
            there => {
                if let Some(key) = there.map(|entry| entry.key.clone()) { table.remove(hash, &key); }",
        )],
    ),
    (
        "done-and-under-way",
        "single flight",
        &[(
            "sync/src/lock/single_flight.rs",
            "there.callers == 0 || self.work.result.get().is_some()",
            "there.callers == 0 || self.work.result.get().is_some() && !FAULT",
        )],
    ),
    (
        "child-not-told",
        "token",
        &[("core/src/api/token.rs", "told.children.into_values()", "told.children.into_values().filter(|_| !FAULT)")],
    ),
    (
        "finished-too-early",
        "join handle",
        &[(
            "core/src/api/handle.rs",
            "is_none_or(|task| task.task_ref().is_done())",
            "is_none_or(|task| FAULT || task.task_ref().is_done())",
        )],
    ),
];

/// Mutants are faults in the copy.
pub(super) const MUTANTS_ARE_FAULTS: Edit = (
    "base/src/sys/mutant.rs",
    "pub const fn on(_mutant: &str) -> bool {\n    false\n}",
    "pub fn on(mutant: &str) -> bool {\n    fault(mutant)\n}",
);
