//! Finds out by trials whether futures are better spread over all workers, or gathered on one.
//!
//! ```text
//!  this way holds: 16 ms, or longer | the other way: settle | look | the better one holds: ...
//! ```
//! What is compared are operations in a time: of futures, on channels and the like, as their budget
//! counts them. Gathering has to be [`CLEAR`]ly faster to begin. To end, it has only to be slower.
//! What is found again holds twice as long, up to [`LONGEST_US`], so that trials take one per cent
//! of the time at most.
//!
//! There is something to try where two workers and more have a part in the turns, and next to no
//! closures begin: those that compute would be moved about. While futures are gathered, their
//! worker must not sleep. Where it does, there is less to do than one worker can, and no rate says
//! anything. A window in which that was so is *interrupted*. After some of these futures are
//! spread; so they are where that worker has not come by in time for what others gave it: the
//! second time in a trial, and after a few times else.
//!
//! **Rejected.** To count the operations of polls that have used their budget up, too (they count
//! as none): a hub of 1,000 askers was left spread then, though gathered it takes 0.7 of the time,
//! for operations that try and fail are more where futures are spread. To count turns: where
//! workers wait for each other there are more turns for the same messages. To let gathering win
//! where both are level, as it leaves a processor to others: that takes longer looks, and locks
//! that several workers have used are at their best for one only after milliseconds. More choices
//! than all workers and one: each takes trials.

/// After so long tasks have found their workers ...
const SETTLE_US: u64 = 800;
/// ... and are watched for so long.
const LOOK_US: u64 = 500;
/// Gathering begins with so much of the rate before. (Rates of half a millisecond vary.)
const CLEAR: f64 = 1.1;
/// With so little while tasks settle there is no look.
const HOPELESS: f64 = 0.75;
/// Between two looks whether there is something to try, or whether gathering still makes sense.
const PAUSE_US: u64 = 2_000;
/// What is found holds for so long at first; gathering, whose end spoils what locks have learned,
/// for [`GATHERED`] times as long, ...
const SHORTEST_US: u64 = 16_000;
const GATHERED: u64 = 4;
/// ... and for so long at last.
const LONGEST_US: u64 = 250_000;
/// Where gathered futures suddenly have so little of the rate before, the other way is tried at
/// once.
const CHANGED: f64 = 0.5;
/// Who has so small a share of all turns has no part in them.
const SHARE: u64 = 64;
/// One closure begins in so many polls, at most.
const CLOSURES: u64 = 4;
/// Fewer polls than one in so many microseconds are not worth while.
const SELDOM_US: u64 = 10;
/// So many more windows that were interrupted than others end a trial, or gathering.
const MOST_INTERRUPTED: u32 = 8;
/// So often the worker may not come by while gathering is in force.
const MOST_GIVEN_UP: u32 = 3;

/// What a worker has done since its pool was made.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) struct Totals {
    /// Polls of futures.
    pub polls: u64,
    /// Operations in these.
    pub operations: u64,
    /// Futures that were queued here, wherever they were polled.
    pub queued: u64,
    /// Closures that have begun.
    pub closures: u64,
    /// Turns in which a blocked closure went on.
    pub resumed: u64,
    /// How often it has fallen asleep.
    pub sleeps: u64,
}

impl Totals {
    fn since(self, before: Totals) -> Totals {
        // (Numbers of one moment may be of two: so one that only grows may seem not to.)
        let grown = |now: u64, before: u64| now.wrapping_sub(before).cast_signed().max(0).cast_unsigned();
        Totals {
            polls: grown(self.polls, before.polls),
            operations: grown(self.operations, before.operations),
            queued: grown(self.queued, before.queued),
            closures: grown(self.closures, before.closures),
            resumed: grown(self.resumed, before.resumed),
            sleeps: grown(self.sleeps, before.sleeps),
        }
    }

    fn turns(&self) -> u64 {
        self.polls + self.resumed
    }
}

/// What a window has shown.
#[derive(Debug, Clone, Copy)]
struct Window {
    /// Operations in a microsecond. (A poll is a small part of one, for futures that have none.)
    rate: f64,
    /// Is the rate that of the way that was to be tried, or is in force?
    counts: bool,
    /// The worker to gather futures at: closures that take part stay on it, or it has woken most of
    /// them.
    best: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Way {
    #[default]
    Spread,
    Gathered,
}

/// What the window is for that ends next.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The verdict is in force.
    #[default]
    Holds,
    /// Of a trial of the other way: tasks settle, before the ...
    Settles,
    /// ... look.
    Looks,
}

/// It knows no workers but by numbers. Times are microseconds.
#[derive(Debug, Default)]
pub(super) struct Controller {
    /// One more than the number of the worker at which futures are gathered; 0: they are spread.
    at: u32,
    /// What has been found to be better.
    verdict: Way,
    /// It is in force up to this time, ...
    until: u64,
    /// ... which was so long, ...
    hold: u64,
    /// ... with this rate.
    rate: f64,
    stage: Stage,
    /// The last window was interrupted.
    resumes: bool,
    /// How many windows were interrupted more than others.
    interrupted: u32,
    /// How often the worker has not come by since the verdict.
    given_up: u32,
    /// When the window began ...
    began: u64,
    /// ... and what workers had done then.
    before: Vec<Totals>,
}

impl Controller {
    /// Where futures are to be gathered, as `Gather::at`.
    pub(super) fn at(&self) -> u32 {
        self.at
    }

    /// Is gathering in force, and no trial?
    pub(super) fn is_gathered(&self) -> bool {
        self.verdict == Way::Gathered
    }

    /// A window ends, in which futures were gathered there last; this is what workers have done.
    /// When it is to be called again.
    pub(super) fn look(&mut self, now: u64, at: u32, totals: Vec<Totals>) -> u64 {
        let given_up = at != self.at;
        self.at = at;
        self.before.resize(totals.len(), Totals::default());
        let since: Vec<Totals> = totals.iter().zip(&self.before).map(|(now, before)| now.since(*before)).collect();
        self.before = totals;
        let time = now.saturating_sub(std::mem::replace(&mut self.began, now)).max(1);
        let seen = self.see(time, &since);
        if given_up {
            self.given_up += 1;
            let most = if self.stage == Stage::Holds { MOST_GIVEN_UP } else { 1 };
            if self.given_up > most {
                return self.decide(now, Way::Spread, seen);
            }
        }
        self.step(now, Window { counts: seen.counts && !given_up, ..seen })
    }

    fn see(&self, time: u64, since: &[Totals]) -> Window {
        let sum = |of: fn(&Totals) -> u64| since.iter().map(of).sum::<u64>();
        let (polls, turns) = (sum(|w| w.polls), sum(Totals::turns));
        let is_worth_while = polls * SELDOM_US >= time && sum(|w| w.closures) * CLOSURES <= polls;
        let takes_part = |n: u64| n * SHARE > turns;
        let has_slept = |at: u32| since.get(at as usize - 1).is_some_and(|w| w.sleeps > 0);
        let best = (0..since.len()).max_by_key(|&w| (takes_part(since[w].resumed), since[w].queued));
        Window {
            rate: (sum(|w| w.operations) as f64 + polls as f64 / 16.0) / time as f64,
            counts: is_worth_while
                && match self.at {
                    0 => since.iter().filter(|w| takes_part(w.turns())).count() > 1,
                    at => !has_slept(at),
                },
            best: best.map_or(0, |w| w as u32 + 1),
        }
    }

    fn step(&mut self, now: u64, seen: Window) -> u64 {
        let way = if self.stage == Stage::Holds { self.verdict } else { self.verdict.other() };
        if !seen.counts {
            self.resumes = true;
            if self.stage != Stage::Holds && way == Way::Spread {
                // One worker does all anyway.
                return self.decide(now, Way::Gathered, seen);
            }
            self.interrupted += u32::from(way == Way::Gathered);
            if self.interrupted > MOST_INTERRUPTED {
                return self.decide(now, Way::Spread, seen);
            }
            return now + if way == Way::Gathered { LOOK_US } else { PAUSE_US };
        }
        self.interrupted = self.interrupted.saturating_sub(1);
        let resumed = std::mem::take(&mut self.resumes);
        if way == Way::Gathered && (self.at == 0 || resumed && self.at != seen.best) {
            self.at = seen.best;
            return now + SETTLE_US;
        }
        match self.stage {
            Stage::Holds => {
                let is_changed = way == Way::Gathered && seen.rate < CHANGED * self.rate;
                self.rate = match way {
                    // One long window.
                    Way::Spread => seen.rate,
                    // Short ones.
                    Way::Gathered => self.rate + (seen.rate - self.rate) / 4.0,
                };
                if now < self.until && !is_changed {
                    return if way == Way::Spread { self.until } else { now + PAUSE_US };
                }
                self.at = if way == Way::Spread { seen.best } else { 0 };
                self.stage = Stage::Settles;
                now + SETTLE_US
            }
            Stage::Settles if seen.rate < HOPELESS * self.rate => self.decide(now, self.verdict, seen),
            Stage::Settles => {
                self.stage = Stage::Looks;
                now + LOOK_US
            }
            Stage::Looks if resumed => now + LOOK_US,
            Stage::Looks => {
                let least = if way == Way::Gathered { CLEAR } else { 1.0 };
                self.decide(now, if seen.rate > least * self.rate { way } else { self.verdict }, seen)
            }
        }
    }

    /// This is in force from now on.
    fn decide(&mut self, now: u64, verdict: Way, seen: Window) -> u64 {
        let is_new = std::mem::replace(&mut self.verdict, verdict) != verdict;
        self.hold = match (is_new, verdict) {
            (true, Way::Spread) => SHORTEST_US,
            (true, Way::Gathered) => GATHERED * SHORTEST_US,
            (false, _) => (2 * self.hold).clamp(SHORTEST_US, LONGEST_US),
        };
        self.until = now + self.hold;
        if is_new {
            self.rate = seen.rate;
        }
        if verdict == Way::Spread {
            self.at = 0;
        }
        (self.stage, self.resumes, self.interrupted, self.given_up) = (Stage::Holds, false, 0, 0);
        now + if verdict == Way::Spread { PAUSE_US } else { LOOK_US }
    }
}

impl Way {
    fn other(self) -> Way {
        if self == Way::Spread { Way::Gathered } else { Way::Spread }
    }
}

#[cfg(all(test, not(loom)))]
mod test {
    use super::*;

    /// A program on two workers: what it does in a microsecond where its futures are spread, and
    /// where they are gathered at the better worker (which is the second one, of number 2).
    struct Program {
        controller: Controller,
        now: u64,
        next: u64,
        totals: [Totals; 2],
        /// So long futures were gathered at the first and at the second worker.
        gathered: [u64; 2],
    }

    /// Operations in a microsecond.
    type Rates = (u64, u64);

    impl Program {
        fn new() -> Program {
            Program {
                controller: Controller::default(),
                now: 1_000_000,
                next: 0,
                totals: Default::default(),
                gathered: [0; 2],
            }
        }

        /// Goes on for so many microseconds; `each` changes what has happened in one of them.
        fn go_on(&mut self, time: u64, (spread, gathered): Rates, each: impl Fn(u64, &mut [Totals; 2])) {
            self.gathered = [0; 2];
            for _ in 0..time {
                let at = self.controller.at();
                let parts = match at {
                    0 => [spread / 4, spread - spread / 4],
                    1 => [gathered / 2, 0],
                    _ => [0, gathered],
                };
                for (w, operations) in self.totals.iter_mut().zip(parts) {
                    w.operations += operations;
                    w.polls += operations;
                    w.queued += operations;
                }
                each(self.now, &mut self.totals);
                if at > 0 {
                    self.gathered[at as usize - 1] += 1;
                }
                self.now += 1;
                if self.now >= self.next {
                    self.next = self.controller.look(self.now, at, self.totals.to_vec());
                }
            }
        }
    }

    const SECOND: u64 = 1_000_000;

    #[test]
    fn gathers_where_one_worker_is_faster() {
        let mut program = Program::new();
        program.go_on(SECOND, (20, 60), |_, _| ());
        assert!(program.gathered[1] > SECOND * 95 / 100, "{:?}", program.gathered);
        assert_eq!(program.gathered[0], 0);
    }

    #[test]
    fn trials_cost_little_where_two_are() {
        for gathered in [40, 60, 62] {
            let mut program = Program::new();
            program.go_on(SECOND, (60, gathered), |_, _| ());
            let first = program.gathered[1];
            program.go_on(SECOND, (60, gathered), |_, _| ());
            assert!(first < SECOND / 50 && program.gathered[1] < SECOND / 100, "{first} {:?}", program.gathered);
            assert!(program.gathered[1] > 0, "a program may change");
        }
    }

    #[test]
    fn hears_of_a_change() {
        let mut program = Program::new();
        program.go_on(SECOND, (20, 60), |_, _| ());
        program.go_on(SECOND, (60, 40), |_, _| ());
        assert!(program.gathered[1] < SECOND * 30 / 100, "{:?}", program.gathered);
        program.go_on(SECOND, (20, 60), |_, _| ());
        assert!(program.gathered[1] > SECOND * 70 / 100, "{:?}", program.gathered);
    }

    #[test]
    fn a_program_that_is_suddenly_slow_is_tried_the_other_way() {
        let mut program = Program::new();
        program.go_on(2 * SECOND, (20, 60), |_, _| ());
        program.go_on(SECOND / 20, (40, 20), |_, _| ());
        assert!(program.gathered[1] < SECOND / 100, "{:?}", program.gathered);
    }

    #[test]
    fn a_worker_that_sleeps_has_not_enough_to_do() {
        let mut program = Program::new();
        // What is done is what is asked for, and each 100 µs the worker of all sleeps.
        program.go_on(SECOND, (20, 20), |now, totals| totals[1].sleeps += u64::from(now % 100 == 0));
        assert!(program.gathered[1] < SECOND / 20, "{:?}", program.gathered);
    }

    #[test]
    fn a_pause_of_the_program_ends_nothing() {
        let mut program = Program::new();
        program.go_on(SECOND, (20, 60), |now, totals| totals[1].sleeps += u64::from(now % 20_000 == 0));
        assert!(program.gathered[1] > SECOND * 90 / 100, "{:?}", program.gathered);
    }

    #[test]
    fn at_the_worker_that_has_closures_of_the_same_program() {
        let mut program = Program::new();
        program.go_on(SECOND, (20, 60), |_, totals| totals[0].resumed += 2);
        assert!(program.gathered[0] > SECOND * 90 / 100, "{:?}", program.gathered);
    }

    #[test]
    fn not_where_closures_begin_or_one_worker_does_all() {
        let mut program = Program::new();
        program.go_on(SECOND, (20, 60), |_, totals| totals[0].closures += 10);
        assert_eq!(program.gathered, [0; 2]);
        let mut program = Program::new();
        program.go_on(SECOND, (20, 60), |_, totals| {
            totals[1].polls += std::mem::take(&mut totals[0].polls);
        });
        assert_eq!(program.gathered, [0; 2]);
    }

    #[test]
    fn a_worker_that_never_comes_by_is_not_asked_all_the_time() {
        for verdict in [Way::Spread, Way::Gathered] {
            let mut controller = Controller { verdict, rate: 1.0, ..Controller::default() };
            let mut totals = [Totals::default(); 2];
            let (mut at, mut since, mut next, mut begun) = (0, 0, 0, 0);
            for now in SECOND..2 * SECOND {
                for w in &mut totals {
                    w.polls += 1;
                    w.operations += 10;
                    w.queued += 1;
                }
                if at > 0 && now - since == 50 {
                    at = 0; // `Gather::give_up`
                }
                if now >= next {
                    let before = at;
                    next = controller.look(now, at, totals.to_vec());
                    at = controller.at();
                    if at > 0 && before == 0 {
                        (since, begun) = (now, begun + 1);
                    }
                }
            }
            assert!((1..20).contains(&begun), "{begun} times in a second");
        }
    }

    #[test]
    fn a_worker_that_does_not_come_by_gives_up() {
        let mut program = Program::new();
        program.go_on(SECOND, (20, 60), |_, _| ());
        let (now, totals) = (program.now, program.totals.to_vec());
        assert_eq!(program.controller.at(), 2);
        program.controller.look(now + 1, 0, totals);
        assert_eq!(program.controller.at(), 0, "not at once again");
        program.go_on(SECOND / 10, (20, 60), |_, _| ());
        assert!(program.gathered[1] > SECOND / 10 * 80 / 100, "{:?}", program.gathered);
    }
}
