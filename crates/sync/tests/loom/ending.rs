//! Scripts of ends without a lock: each wish is told once, by the end or at once.

use super::channel::both;
use super::{SYNC, Script};
use loom::cell::UnsafeCell;
use loom::sync::Mutex;
use loom::thread;
use myriad_sync::ending::{EndWord, Stage};
use std::sync::Arc;

/// What ends, as an actor does.
struct Ends {
    word: EndWord,
    /// How many wish to be told.
    wishes: Mutex<usize>,
    /// What has been done before the end is told, and before the death.
    before: [UnsafeCell<usize>; 2],
}

impl Ends {
    fn new() -> Arc<Ends> {
        let before = [UnsafeCell::new(0), UnsafeCell::new(0)];
        Arc::new(Ends { word: EndWord::new(), wishes: Mutex::new(0), before })
    }

    fn does(&self, step: usize) {
        // SAFETY: who reads has seen the stage that follows.
        self.before[step].with_mut(|done| unsafe { *done += 1 });
    }

    fn sees(&self, stage: Stage) {
        let steps = match stage {
            Stage::Alive => 0,
            Stage::Ending => 1,
            Stage::Dead => 2,
        };
        for done in &self.before[..steps] {
            // SAFETY: the stage was set behind it.
            assert_eq!(done.with(|done| unsafe { *done }), 1);
        }
    }

    /// The end; how many were told.
    fn end(&self) -> usize {
        self.does(0);
        if !self.word.begin_alone() {
            let _wishes = self.wishes.lock().unwrap();
            self.word.touch();
            self.word.set(Stage::Ending);
        }
        self.does(1);
        if self.word.end_alone() {
            return 0;
        }
        let mut wishes = self.wishes.lock().unwrap();
        self.word.set(Stage::Dead);
        std::mem::take(&mut *wishes)
    }

    /// A wish; it comes too late, and is told at once.
    fn wish(&self) -> bool {
        let mut wishes = self.wishes.lock().unwrap();
        let stage = self.word.touch();
        *wishes += usize::from(stage != Stage::Dead);
        drop(wishes);
        self.sees(stage);
        stage == Stage::Dead
    }
}

/// A wish comes meanwhile.
fn wished_or_ended() {
    let all = Ends::new();
    let (a, b) = (all.clone(), all.clone());
    let (told, late) = both(move || a.end(), move || b.wish());
    assert_eq!(told + usize::from(late), 1);
    assert_eq!((all.word.stage(), *all.wishes.lock().unwrap()), (Stage::Dead, 0));
}

/// Two do, and one looks without the lock.
fn two_wish() {
    let all = Ends::new();
    let (a, b) = (all.clone(), all.clone());
    let first = thread::spawn(move || a.wish());
    let looks = thread::spawn(move || {
        b.sees(b.word.stage());
        b.wish()
    });
    let told = all.end();
    let late = usize::from(first.join().unwrap()) + usize::from(looks.join().unwrap());
    assert_eq!(told + late, 2);
}

const fn script(name: &'static str, run: fn(), mutants: &'static [&'static str]) -> Script {
    Script { name, run, bound: (Some(3), None), mutants, ..SYNC }
}

pub const SCRIPTS: &[Script] = &[
    script(
        "ending.wished_or_ended",
        wished_or_ended,
        &["ending-untouched", "ending-touch", "ending-begin", "ending-end"],
    ),
    Script { threads: 3, ..script("ending.two_wish", two_wish, &["ending-untouched", "ending-set", "ending-acquire"]) },
];
