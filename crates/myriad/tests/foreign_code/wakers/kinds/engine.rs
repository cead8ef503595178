//! Joins, sleeps, limits, tokens, other threads.

use super::*;

pub(in crate::wakers) fn join_closure(rt: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    let wait = || {
        let gate = gate.clone();
        rt.spawn(move || _ = gate.recv())
    };
    case(|_| wait(), || drop(go))
}
pub(in crate::wakers) fn join_future(rt: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    let wait = || {
        let gate = gate.clone();
        rt.spawn_async(async move { _ = gate.recv_async().await })
    };
    case(|_| wait(), || drop(go))
}
pub(in crate::wakers) fn join_set(rt: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    let wait = || {
        let gate = gate.clone();
        let mut set = task::JoinSet::new();
        rt.run(|| set.spawn(move || _ = gate.recv()));
        async move { set.join_next_async().await }
    };
    case(|_| wait(), || drop(go))
}
pub(in crate::wakers) fn sleep(_: &Runtime) -> Case {
    timed(|_| time::sleep_async(SOON), || std::thread::sleep(SOON))
}
pub(in crate::wakers) fn timeout(_: &Runtime) -> Case {
    timed(|_| time::timeout_async(SOON, pending::<()>()), || std::thread::sleep(SOON))
}
pub(in crate::wakers) fn token(_: &Runtime) -> Case {
    let token = cancel::Token::new();
    let theirs = token.clone();
    case(
        move |_| {
            let token = token.clone();
            async move { _ = token.run_async(pending::<()>()).await }
        },
        move || theirs.cancel(),
    )
}
pub(in crate::wakers) fn compute(_: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    case(
        move |_| {
            let gate = gate.clone();
            myriad::compute_async(move || _ = gate.recv())
        },
        || drop(go),
    )
}
pub(in crate::wakers) fn blocking(_: &Runtime) -> Case {
    let (go, gate) = channel::bounded::<()>(0);
    case(
        move |_| {
            let gate = gate.clone();
            myriad::blocking_async(move || _ = gate.recv())
        },
        || drop(go),
    )
}
