//! The map of two keys: "each operation on a key is one step, and happens at one moment between its
//! call and its return".

use crate::model::{Answer, Call, Model, Step, at_once};
use crate::object::{Dice, Object};
use myriad::sync::{Arc, Map};

#[derive(Debug, Clone, Copy)]
pub(crate) enum Op {
    Get(u8),
    Contains(u8),
    Insert(u8, i32),
    GetOrInsert(u8, i32),
    Remove(u8),
    /// `replace_if` what the caller has got last of this key is there.
    Replace(u8, i32),
    /// `remove_if`, likewise.
    RemoveSeen(u8),
}

pub(crate) struct Shared;

pub(crate) struct Hand {
    map: Arc<Map<u8, i32>>,
    /// What was got last.
    seen: [Option<Arc<i32>>; 2],
}

#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct State {
    values: [Option<i32>; 2],
    seen: Vec<[Option<i32>; 2]>,
}

fn found(value: Option<i32>) -> Answer {
    value.map_or(Answer::Nothing, Answer::Value)
}

impl Model for State {
    type Op = Op;

    fn next(&self, actor: usize, call: &Call<Op>, _: u8) -> Vec<Step<Self>> {
        let mut state = self.clone();
        let (Op::Get(key)
        | Op::Contains(key)
        | Op::Insert(key, _)
        | Op::GetOrInsert(key, _)
        | Op::Remove(key)
        | Op::Replace(key, _)
        | Op::RemoveSeen(key)) = call.op;
        let key = usize::from(key);
        let (value, seen) = (self.values[key], self.seen[actor][key]);
        let answer = match call.op {
            Op::Get(_) => {
                state.seen[actor][key] = value;
                found(value)
            }
            Op::Contains(_) => Answer::Flag(value.is_some()),
            Op::Insert(_, new) => {
                state.values[key] = Some(new);
                found(value)
            }
            Op::GetOrInsert(_, new) => {
                state.values[key] = value.or(Some(new));
                Answer::Pair(value.unwrap_or(new), i32::from(value.is_some()))
            }
            Op::Remove(_) => {
                state.values[key] = None;
                found(value)
            }
            Op::Replace(..) | Op::RemoveSeen(_) if seen.is_none() => Answer::Gone,
            Op::Replace(..) | Op::RemoveSeen(_) if seen != value => found(value),
            Op::Replace(_, new) => {
                state.values[key] = Some(new);
                Answer::Done
            }
            Op::RemoveSeen(_) => {
                state.values[key] = None;
                Answer::Done
            }
        };
        at_once(state, answer)
    }
}

impl Object for Shared {
    type Op = Op;
    type Model = State;
    type Hand = Hand;

    fn name(&self) -> String {
        "map".into()
    }

    fn calls(&self, _: usize, dice: &mut Dice) -> Vec<Call<Op>> {
        let (key, value) = (dice.below(2) as u8, dice.value());
        match dice.below(9) {
            0 => vec![Call::now(Op::Get(key))],
            1 => vec![Call::now(Op::Contains(key))],
            2 | 3 => vec![Call::now(Op::Insert(key, value))],
            4 | 5 => vec![Call::now(Op::GetOrInsert(key, value))],
            6 => vec![Call::now(Op::Remove(key))],
            7 => vec![Call::now(Op::Get(key)), Call::now(Op::Replace(key, value))],
            _ => vec![Call::now(Op::Get(key)), Call::now(Op::RemoveSeen(key))],
        }
    }

    fn make(&self, actors: usize) -> (State, Vec<Hand>) {
        let map = Arc::new(Map::new());
        let state = State { values: [None; 2], seen: vec![[None; 2]; actors + 1] };
        (state, (0..=actors).map(|_| Hand { map: map.clone(), seen: [None, None] }).collect())
    }

    fn call(Hand { map, seen }: &mut Hand, call: &Call<Op>) -> Answer {
        let value = |got: Option<Arc<i32>>| found(got.as_deref().copied());
        match call.op {
            Op::Get(key) => {
                seen[usize::from(key)] = map.get(&key);
                value(seen[usize::from(key)].clone())
            }
            Op::Contains(key) => Answer::Flag(map.contains_key(&key)),
            Op::Insert(key, new) => value(map.insert(key, new)),
            Op::GetOrInsert(key, new) => {
                let (value, there) = map.get_or_insert(key, new);
                Answer::Pair(*value, i32::from(there))
            }
            Op::Remove(key) => value(map.remove(&key)),
            Op::Replace(key, new) => match &seen[usize::from(key)] {
                None => Answer::Gone,
                Some(old) => map.replace_if(&key, old, new).map_or_else(value, |()| Answer::Done),
            },
            Op::RemoveSeen(key) => match &seen[usize::from(key)] {
                None => Answer::Gone,
                Some(old) => map.remove_if(&key, old).map_or_else(value, |()| Answer::Done),
            },
        }
    }

    async fn call_async(hand: &mut Hand, call: &Call<Op>) -> Answer {
        Self::call(hand, call)
    }
}
