//! Selects.

use super::*;

pub(in crate::wakers) fn select_recv(_: &Runtime) -> Case {
    let ((tx, rx), (never, nothing)) = (channel::bounded::<u32>(1), channel::bounded::<u32>(1));
    let keep = never.clone();
    case(
        move |_| {
            let (rx, nothing, _never) = (rx.clone(), nothing.clone(), never.clone());
            async move {
                let won = select::wait_async(Order::Fair, (rx.recv_arm(), nothing.recv_arm())).await;
                assert!(matches!(won, select::Won::A0(_)) && !_never.is_closed());
            }
        },
        || drop((tx, keep)),
    )
}
pub(in crate::wakers) fn select_send(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<usize>(0);
    case(
        move |i| {
            let tx = tx.clone();
            async move { _ = select::wait_async(Order::Fair, (tx.send_arm(i), select::after(Duration::MAX))).await }
        },
        move || (0..3).for_each(|_| _ = rx.try_recv()),
    )
}
pub(in crate::wakers) fn select_dynamic(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    case(
        move |_| {
            let rx = rx.clone();
            async move {
                let mut select = Select::new();
                select.recv(&rx, |message| message.is_ok());
                select.wait_async().await
            }
        },
        || drop(tx),
    )
}
pub(in crate::wakers) fn select_future(_: &Runtime) -> Case {
    let ((tx, rx), event) = (channel::bounded::<u32>(1), Arc::new(Event::new()));
    let set = event.clone();
    case(
        move |_| {
            let (rx, event) = (rx.clone(), event.clone());
            async move {
                _ = select::wait_async(Order::Fair, (rx.recv_arm(), select::future(event.wait_async()))).await;
            }
        },
        move || {
            set.set();
            drop(tx);
        },
    )
}
pub(in crate::wakers) fn select_time(_: &Runtime) -> Case {
    let (tx, rx) = channel::bounded::<u32>(1);
    timed(
        move |_| {
            let rx = rx.clone();
            async move { _ = select::wait_async(Order::Fair, (rx.recv_arm(), select::after(SOON))).await }
        },
        move || {
            std::thread::sleep(SOON);
            drop(tx);
        },
    )
}
