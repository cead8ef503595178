//! A history as people read it.

use super::model::Call;
use super::object::Object;
use super::place::Place;
use super::rounds::{History, Program};
use std::fmt::{Debug, Write};

/// How the names of Go's programs begin.
pub(crate) const GO: &str = "Go's channels";

/// What is told beside the events.
pub(crate) struct Told<'a> {
    pub(crate) what: &'a str,
    pub(crate) object: &'a str,
    pub(crate) seed: u64,
    pub(crate) place: Place,
}

/// One actor a line.
fn program_text<Op: Debug>(program: &[Vec<Call<Op>>]) -> String {
    program.iter().enumerate().map(|(actor, calls)| format!("  {actor}: {calls:?}\n")).collect()
}

/// The whole story. `farthest` are the numbers of events of each actor that the longest order
/// explains.
pub(crate) fn tell<O: Object>(
    told: &Told<'_>,
    program: &Program<O::Op>,
    history: &History<O::Op>,
    farthest: &[usize],
) -> String {
    let Told { what, object, seed, place } = told;
    let mut text = format!("\nA history of `{object}` {what} ({place}). The program:\n{}", program_text(program));
    let start = history.iter().flatten().map(|event| event.begin).min().unwrap_or(0);
    let mut rows = Vec::new();
    for (actor, events) in history.iter().enumerate() {
        for (number, event) in events.iter().enumerate() {
            let beyond = farthest.get(actor).is_some_and(|&explained| number >= explained);
            rows.push((event.begin, actor, event, beyond));
        }
    }
    rows.sort_by_key(|row| (row.0, row.1));
    text += "  actor     call ns   return ns  operation -> answer      (!: behind what the longest order explains)\n";
    for (_, actor, event, beyond) in rows {
        let who = if actor == program.len() { "relief".to_string() } else { actor.to_string() };
        let mark = if beyond { '!' } else { ' ' };
        let (begin, end) = (event.begin - start, event.end - start);
        _ = writeln!(text, "{mark} {who:6} {begin:10}  {end:10}  {:?} -> {:?}", event.call, event.answer);
    }
    for (actor, calls) in program.iter().enumerate() {
        if let Some(call) = calls.get(history[actor].len()) {
            _ = writeln!(text, "  {actor:<6} has not returned from {call:?}");
        }
    }
    let (test, only) = match object.strip_prefix(GO) {
        Some(_) => ("outcomes_of_go", String::new()),
        None => ("every_object", format!(" MYRIAD_HISTORY_ONLY='{object}'")),
    };
    _ = writeln!(
        text,
        "Again: MYRIAD_HISTORY_SECONDS=60 MYRIAD_HISTORY_PROGRAM={seed}{only} cargo test -p myriad-rt --test histories {test}"
    );
    text
}
