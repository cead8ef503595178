//! The situations in which a model of Erlang's processes goes wrong most easily: what comes out of
//! each stands in `as_erlang/outcomes.txt`, beside what comes out there. (`scripts/erlang.sh` asks
//! Erlang itself.)

mod calls;
mod signals;
mod supervisors;

use crate::common::table::{self, Situation};
use crate::*;
use myriad::actor::{CallError, Exit};

#[test]
fn situations_come_out_as_the_table_says() {
    let all: Vec<_> = [signals::ALL, calls::ALL, supervisors::ALL].concat();
    each_runtime(|| table::check(include_str!("as_erlang/outcomes.txt"), &all));
}

/// What each of these is in the table.
macro_rules! words {
    ($($word:expr),* $(,)?) => { vec![$($crate::as_erlang::Word::word(&$word)),*] };
}
use words;

trait Word {
    fn word(&self) -> String;
}

impl Word for str {
    fn word(&self) -> String {
        self.into()
    }
}

impl<T: Word + ?Sized> Word for &T {
    fn word(&self) -> String {
        (**self).word()
    }
}

impl Word for bool {
    fn word(&self) -> String {
        self.to_string()
    }
}

impl Word for usize {
    fn word(&self) -> String {
        self.to_string()
    }
}

impl Word for Reason {
    fn word(&self) -> String {
        match self {
            Reason::NoProcess => "noproc".into(),
            Reason::Panic(text) => text.trim_start_matches("planned: ").into(),
            other => other.to_string(),
        }
    }
}

impl Word for Exit {
    fn word(&self) -> String {
        self.reason.word()
    }
}

impl<T: Word> Word for Option<T> {
    fn word(&self) -> String {
        self.as_ref().map_or("none".into(), Word::word)
    }
}

impl<T, E> Word for Result<T, E> {
    fn word(&self) -> String {
        if self.is_ok() { "ok" } else { "error" }.into()
    }
}

impl Word for CallError {
    fn word(&self) -> String {
        match self {
            CallError::NoProcess => "noproc".into(),
            CallError::Exited(reason) => reason.word(),
            CallError::NoReply => "no-reply".into(),
            CallError::Timeout => "timeout".into(),
            CallError::Deadlock(circle) if circle.len() == 1 => "calling_self".into(),
            other => other.to_string(),
        }
    }
}

/// What an actor finds out.
fn in_actor<M: Send + 'static>(body: impl FnOnce(&mut Mailbox<M>) -> Vec<String> + Send + 'static) -> Vec<String> {
    let (tx, rx) = myriad::channel::unbounded();
    actor::spawn(move |mut mail: Mailbox<M>| tx.send(body(&mut mail)).unwrap());
    rx.recv().expect("it does not panic")
}

/// What an actor finds out that traps exits.
fn trapping(body: impl FnOnce(&mut Mailbox<Exit>) -> Vec<String> + Send + 'static) -> Vec<String> {
    in_actor(|mail| {
        mail.trap_exits(|exit| exit);
        body(mail)
    })
}

/// An actor that ends with what it is told.
fn waits(mut mail: Mailbox<Reason>) -> Reason {
    mail.receive()
}

fn crash() -> Reason {
    Reason::of("crash")
}
