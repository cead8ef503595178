//! Selects over two channels, in all forms.

use super::{Arm, Ends, Form};
use crate::model::{Answer, Brought, How};
use crate::object::{awaited, either, nanos, waited};
use myriad::channel::{RecvError, SendError};
use myriad::select::{Order, Select};
use myriad::{select, select_async};

fn won_recv(arm: u8) -> impl Fn(Result<i32, RecvError>) -> Answer + Send {
    move |got| Answer::Arm(arm, got.map_or(Brought::Closed, Brought::Value))
}

fn won_send(arm: u8) -> impl Fn(Result<(), SendError<i32>>) -> Answer + Send {
    move |sent| Answer::Arm(arm, if sent.is_ok() { Brought::Sent } else { Brought::Closed })
}

/// Writes the select for each pair of arms, with more arms behind.
macro_rules! pairs {
    ($select:ident, $ends:ident, $arms:ident, $($more:tt)*) => {
        match $arms {
            [Arm::Recv(a), Arm::Recv(b)] => $select! {
                got = $ends.rx[usize::from(a)].recv() => won_recv(0)(got),
                got = $ends.rx[usize::from(b)].recv() => won_recv(1)(got),
                $($more)*
            },
            [Arm::Send(a, x), Arm::Recv(b)] => $select! {
                sent = $ends.tx[usize::from(a)].send(x) => won_send(0)(sent),
                got = $ends.rx[usize::from(b)].recv() => won_recv(1)(got),
                $($more)*
            },
            [Arm::Recv(a), Arm::Send(b, y)] => $select! {
                got = $ends.rx[usize::from(a)].recv() => won_recv(0)(got),
                sent = $ends.tx[usize::from(b)].send(y) => won_send(1)(sent),
                $($more)*
            },
            [Arm::Send(a, x), Arm::Send(b, y)] => $select! {
                sent = $ends.tx[usize::from(a)].send(x) => won_send(0)(sent),
                sent = $ends.tx[usize::from(b)].send(y) => won_send(1)(sent),
                $($more)*
            },
        }
    };
}

/// The arms of a [`Select`].
fn dynamic<'a>(ends: &'a Ends, arms: [Arm; 2]) -> Select<'a, Answer> {
    let mut select = Select::new();
    for (number, arm) in (0..).zip(arms) {
        match arm {
            Arm::Recv(at) => _ = select.recv(&ends.rx[usize::from(at)], won_recv(number)),
            Arm::Send(at, value) => _ = select.send(&ends.tx[usize::from(at)], value, won_send(number)),
        }
    }
    select
}

pub(super) fn blocking(ends: &Ends, form: Form, arms: [Arm; 2], how: How) -> Answer {
    let outcome = match form {
        Form::Dynamic => {
            let now = || dynamic(ends, arms).try_wait();
            let within = |limit| dynamic(ends, arms).wait_timeout(limit);
            waited(how, now, || dynamic(ends, arms).wait(), within)
        }
        Form::Macro | Form::After => {
            let now = || Some(pairs!(select, ends, arms, default => Answer::Nothing));
            let within = |limit| Some(pairs!(select, ends, arms, after(limit) => Answer::Timeout));
            let within_exactly = |limit| {
                // The arms of one type: as `select!` has them.
                let arm = |arm: Arm| match arm {
                    Arm::Recv(at) => (Some(ends.rx[usize::from(at)].recv_arm()), None),
                    Arm::Send(at, value) => (None, Some(ends.tx[usize::from(at)].send_arm(value))),
                };
                let ((r0, s0), (r1, s1)) = (arm(arms[0]), arm(arms[1]));
                use select::Won::{A0, A1, A2, A3};
                select::wait_timeout(Order::Fair, limit, (r0, s0, r1, s1)).map(|won| match won {
                    A0(got) => won_recv(0)(got),
                    A1(sent) => won_send(0)(sent),
                    A2(got) => won_recv(1)(got),
                    A3(sent) => won_send(1)(sent),
                    _ => unreachable!("there are four arms"),
                })
            };
            let wait = || pairs!(select, ends, arms,);
            if form == Form::After { waited(how, now, wait, within) } else { waited(how, now, wait, within_exactly) }
        }
    };
    either(outcome, |answer| answer)
}

pub(super) async fn in_future(ends: &Ends, form: Form, arms: [Arm; 2], how: How) -> Answer {
    let outcome = match (form, how) {
        (Form::Dynamic, _) => {
            let mut select = dynamic(ends, arms);
            awaited(how, select.wait_async()).await
        }
        (Form::After, How::AwaitWithin(limit)) => {
            let limit = nanos(limit);
            Ok(pairs!(select_async, ends, arms, after(limit) => Answer::Timeout))
        }
        _ => awaited(how, async { pairs!(select_async, ends, arms,) }).await,
    };
    either(outcome, |answer| answer)
}
