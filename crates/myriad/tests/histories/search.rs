//! Is there an order that explains a history? Wing and Gong's search, which remembers where it has
//! been.
//!
//! A step may come next if it does not have to come after the end of an operation that is not over
//! in this order. With the earliest moment of each step known (its call, or its time limit) that is
//! all that there is to the time: the steps in their order can then be given moments that never
//! decrease.

use super::model::{Answer, Call, Model, Then};
use std::collections::HashSet;

/// An operation that was called and has returned; times are in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Event<Op> {
    pub(crate) call: Call<Op>,
    pub(crate) answer: Answer,
    pub(crate) begin: u64,
    pub(crate) end: u64,
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Explained,
    /// No order explains it. How far the one came that came farthest: the number of events of each
    /// actor.
    Impossible(Vec<usize>),
    /// The search has grown too large.
    Unknown,
}

/// So many states are looked at.
const MOST: usize = 300_000;
/// And so many of a program before it runs.
const FEW: usize = 500;

/// For each actor: which of its operations is next, and that one's stage.
type Places = Vec<(u16, u8)>;

struct Search<'a, M: Model> {
    history: &'a [Vec<Event<M::Op>>],
    seen: HashSet<(Places, M)>,
    farthest: Places,
}

pub(crate) fn explain<M: Model>(start: &M, history: &[Vec<Event<M::Op>>]) -> Verdict {
    let mut places = vec![(0, 0); history.len()];
    let mut search = Search { history, seen: HashSet::new(), farthest: places.clone() };
    if search.explain(&mut places, start) {
        Verdict::Explained
    } else if search.seen.len() >= MOST {
        Verdict::Unknown
    } else {
        Verdict::Impossible(search.farthest.iter().map(|place| usize::from(place.0)).collect())
    }
}

impl<M: Model> Search<'_, M> {
    fn explain(&mut self, places: &mut Places, state: &M) -> bool {
        let history = self.history;
        let open = || history.iter().zip(places.iter()).filter_map(|(events, place)| events.get(usize::from(place.0)));
        // The next step is not after this moment.
        let Some(latest) = open().map(|event| event.end).min() else { return true };
        if self.seen.len() >= MOST || !self.seen.insert((places.clone(), state.clone())) {
            return false;
        }
        let sum = |places: &Places| places.iter().map(|place| u32::from(place.0)).sum::<u32>();
        if sum(places) > sum(&self.farthest) {
            self.farthest.clone_from(places);
        }
        for actor in 0..places.len() {
            let (at, stage) = places[actor];
            let Some(event) = history[actor].get(usize::from(at)) else { continue };
            if event.begin > latest {
                continue;
            }
            for step in state.next(actor, &event.call, stage) {
                let earliest = if step.late { event.begin + event.call.limit() } else { event.begin };
                let place = match step.then {
                    Then::Stage(stage) => (at, stage),
                    Then::Answer(answer) if answer == event.answer => (at + 1, 0),
                    Then::Answer(_) => continue,
                };
                if earliest > latest {
                    continue;
                }
                places[actor] = place;
                if self.explain(places, &step.state) {
                    return true;
                }
                places[actor] = (at, stage);
            }
        }
        false
    }
}

/// Can this program come to a state in which all that have not ended wait for ever? `None`: that
/// takes too long to say.
pub(crate) fn may_stick<M: Model>(start: &M, program: &[Vec<Call<M::Op>>]) -> Option<bool> {
    fn sticks<M: Model>(
        program: &[Vec<Call<M::Op>>],
        seen: &mut HashSet<(Places, M)>,
        places: &mut Places,
        state: &M,
    ) -> bool {
        if seen.len() >= FEW || !seen.insert((places.clone(), state.clone())) {
            return false;
        }
        let (mut ended, mut moved) = (true, false);
        for actor in 0..places.len() {
            let (at, stage) = places[actor];
            let Some(call) = program[actor].get(usize::from(at)) else { continue };
            ended = false;
            for step in state.next(actor, call, stage) {
                moved = true;
                places[actor] = match step.then {
                    Then::Stage(stage) => (at, stage),
                    Then::Answer(_) => (at + 1, 0),
                };
                if sticks(program, seen, places, &step.state) {
                    return true;
                }
                places[actor] = (at, stage);
            }
        }
        !ended && !moved
    }
    let mut seen = HashSet::new();
    let found = sticks(program, &mut seen, &mut vec![(0, 0); program.len()], start);
    (found || seen.len() < FEW).then_some(found)
}
