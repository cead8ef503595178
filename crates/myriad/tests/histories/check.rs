//! One program of one object: made from a seed, run in a place, and each of its histories
//! explained.

use super::object::{Dice, Object};
use super::place::Place;
use super::print::{Told, tell};
use super::rounds::{History, Program, run};
use super::search::{Verdict, explain, may_stick};
use crate::common::Rng;

/// So many times a program is run in a row.
const ROUNDS: usize = 16;

/// What came of some programs.
#[derive(Debug, Default, Clone)]
pub(crate) struct Tally {
    pub(crate) histories: usize,
    /// The search gave up.
    pub(crate) unknown: usize,
    pub(crate) wrong: usize,
    /// The first wrong one, as people read it.
    pub(crate) first: Option<String>,
}

/// An [`Object`] whose types are forgotten.
pub(crate) trait Subject: Sync {
    fn name(&self) -> String;
    fn weight(&self) -> u32;
    /// Makes and runs the program of this seed.
    fn check(&self, seed: u64, tally: &mut Tally);
}

impl<O: Object> Subject for O {
    fn name(&self) -> String {
        Object::name(self)
    }

    fn weight(&self) -> u32 {
        Object::weight(self)
    }

    fn check(&self, seed: u64, tally: &mut Tally) {
        let mut rng = Rng(seed);
        let place = Place::choose(&mut rng);
        let program = program(self, &place, &mut rng);
        let (model, _) = self.make(program.len());
        // Objects without relief see to it that nobody waits for ever.
        let helps = !self.relief().is_empty() && may_stick(&model, &program) != Some(false);
        let name = Object::name(self);
        let told = |what| Told { what, object: &name, seed, place };
        let hangs = |history: &History<O::Op>| {
            let text = tell::<O>(&told("hangs"), &program, history, &[]);
            // Not by `eprintln!`, which is captured: the process ends here.
            _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
        };
        for history in run(self, &program, &place, ROUNDS, helps, &mut rng, hangs) {
            tally.histories += 1;
            match explain(&model, &history) {
                Verdict::Explained => {}
                Verdict::Unknown => tally.unknown += 1,
                Verdict::Impossible(farthest) => {
                    tally.wrong += 1;
                    let text = || tell::<O>(&told("is wrong"), &program, &history, &farthest);
                    tally.first.get_or_insert_with(text);
                }
            }
        }
    }
}

/// Two to four actors with two to five calls each, or as many as belong together.
fn program<O: Object>(object: &O, place: &Place, rng: &mut Rng) -> Program<O::Op> {
    let actors = 2 + rng.below(3) as usize;
    let actor = |actor| {
        let calls = 2 + rng.below(4) as usize;
        let mut dice = Dice::new(rng.fork(), place.is_future(actor), actor);
        let mut program = Vec::new();
        while program.len() < calls {
            program.extend(object.calls(actor, &mut dice));
        }
        program.extend(object.last(actor));
        program
    };
    (0..actors).map(actor).collect()
}
