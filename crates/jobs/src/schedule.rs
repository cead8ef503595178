//! When a series has its runs: by a pattern of cron, in a time zone.

use crate::machine::Refused;
use croner::parser::{CronParser, Seconds};
use jiff::civil::DateTime;
use jiff::tz::{AmbiguousOffset, TimeZone};
use jiff::{Timestamp, Zoned};
use myriad_base::sys::passing::passing;
use myriad_core::task;
use std::panic::resume_unwind;
use std::thread;
use std::time::Duration;

/// How often the clock is looked at, at least: it may be put forward or back meanwhile.
pub(crate) const LOOK: Duration = Duration::from_secs(20);

/// What happens to a run whose time comes while the one before has not ended. Runs that were
/// [`Missed`] are not asked: each of those waits for the one before it. Example: [`Schedule`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Overlap {
    /// It does not come.
    #[default]
    Skip,
    /// It waits for the one before.
    Queue,
    /// Both run.
    Parallel,
}

/// What happens to runs whose time passed while the process, or the machine, stood still. Example:
/// [`Schedule`].
///
/// Those that come do so one after the other, whatever the [`Overlap`] is; they never run together.
/// With [`Overlap::Parallel`] the first of them does not wait for what ran before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missed {
    /// They are left out, but for the last of them if its time was at most 21 seconds ago. A series
    /// looks at the clock only every 20 seconds, since the clock may be put forward meanwhile, and
    /// so does not take a run for missed that it may be late for itself.
    #[default]
    None,
    /// One comes for all of them.
    One,
    /// Each comes.
    All,
}

/// When a series has its runs: a pattern of cron, and rules.
///
/// The pattern has five fields (minute, hour, day of the month, month, day of the week), or six
/// with seconds before them, and what croner understands: `@daily`, `L`, `W`, `#`, names. If both
/// the day of the month and the day of the week are given, one of them is enough.
///
/// **Time zones.** The pattern speaks of the time of day there. What happens when the clock is
/// changed is decided by the hours, each for itself:
/// - An hour that the pattern names (`2`, or those of `2,14`) means times of the day. When the
///   clock is put back, each time comes once, the first time. When it is put forward, one run comes
///   at the first moment after the gap for all times that there are not that day.
/// - Hours that come of `*` or of a range (`*`, `*/2`, `0-6`) mean that time goes by. Runs come in
///   the hour that is repeated, both times, and none stands for those in a gap.
///
/// So a daily backup comes once each day, and what comes each ten minutes goes on so.
///
/// **Failures.** The series goes on after a run that failed, unless
/// [`until_failure`](Self::until_failure) says otherwise.
///
/// # Examples
/// ```
/// use myriad::jobs::{Overlap, Schedule};
/// let nightly = Schedule::new("0 3 * * *", "Europe/Berlin")?.overlap(Overlap::Queue);
/// let from = "2026-03-28T12:00[Europe/Berlin]".parse().unwrap();
/// let times: Vec<_> = nightly.times(&from).take(2).map(|at| at.to_string()).collect();
/// assert_eq!(times, ["2026-03-29T03:00:00+02:00[Europe/Berlin]", "2026-03-30T03:00:00+02:00[Europe/Berlin]"]);
///
/// use myriad::jobs::Missed;
/// let until = "2026-04-01T00:00[Europe/Berlin]".parse().unwrap();
/// let few = nightly.missed(Missed::One).until(until).runs(2).until_failure();
/// assert_eq!(few.times(&from).count(), 2);
/// # Ok::<(), myriad::jobs::Refused>(())
/// ```
#[derive(Debug, Clone)]
pub struct Schedule {
    cron: croner::Cron,
    /// The hours that the pattern names one by one, as bits.
    named: u32,
    zone: TimeZone,
    pub(crate) overlap: Overlap,
    missed: Missed,
    until: Option<Zoned>,
    pub(crate) runs: Option<u64>,
    pub(crate) until_failure: bool,
}

impl Schedule {
    /// The pattern, in this time zone: a name as `Europe/Berlin`, or `""` for the system's.
    ///
    /// # Errors
    /// The pattern or the zone is none, or there is no time that the pattern speaks of.
    pub fn new(pattern: &str, zone: &str) -> Result<Schedule, Refused> {
        // (Without optimisation the parsers take more of a stack than a task may have.)
        let parse = || Schedule::parse(pattern, zone);
        if task::current().is_none() {
            return parse();
        }
        thread::scope(|scope| match thread::Builder::new().spawn_scoped(scope, passing(parse)) {
            Ok(thread) => thread.join().unwrap_or_else(|payload| resume_unwind(payload)),
            Err(_) => parse(),
        })
    }
    fn parse(pattern: &str, zone: &str) -> Result<Schedule, Refused> {
        let wrong = |why: String| Refused::Time(why.into());
        let no_pattern = |error| wrong(format!("the pattern \"{pattern}\" is wrong: {error}"));
        let parser = CronParser::builder().seconds(Seconds::Optional).build();
        let cron = parser.parse(pattern).map_err(no_pattern)?;
        let zone = match zone {
            "" => TimeZone::system(),
            name => {
                TimeZone::get(name).map_err(|error| wrong(format!("the time zone \"{name}\" is wrong: {error}")))?
            }
        };
        let schedule = Schedule {
            named: named_hours(cron.as_str()),
            cron,
            zone,
            overlap: Overlap::Skip,
            missed: Missed::None,
            until: None,
            runs: None,
            until_failure: false,
        };
        match schedule.next(&schedule.now()) {
            Some(_) => Ok(schedule),
            None => Err(wrong(format!("the pattern \"{pattern}\" never comes"))),
        }
    }
    /// What happens while the run before has not ended.
    pub fn overlap(mut self, overlap: Overlap) -> Schedule {
        self.overlap = overlap;
        self
    }
    /// What happens to runs that were missed.
    pub fn missed(mut self, missed: Missed) -> Schedule {
        self.missed = missed;
        self
    }
    /// No run after this time; one at this time still comes.
    pub fn until(mut self, time: Zoned) -> Schedule {
        self.until = Some(time);
        self
    }
    /// So many runs at most. With 0 the series is over at once.
    pub fn runs(mut self, most: u64) -> Schedule {
        self.runs = Some(most);
        self
    }
    /// The first run that does not end well is the last one.
    pub fn until_failure(mut self) -> Schedule {
        self.until_failure = true;
        self
    }

    /// (Not by `Zoned::now`: that reads the system's zone, and its parser takes 45 KiB of the stack
    /// of a task in a debug build.)
    pub(crate) fn now(&self) -> Zoned {
        Timestamp::now().to_zoned(self.zone.clone())
    }
    /// The first time after this one.
    pub(crate) fn next(&self, after: &Zoned) -> Option<Zoned> {
        let next = self.next_instant(after.timestamp())?.to_zoned(self.zone.clone());
        self.until.as_ref().is_none_or(|until| next <= *until).then_some(next)
    }
    fn next_instant(&self, after: Timestamp) -> Option<Timestamp> {
        let civil = self.zone.to_datetime(after);
        let first = self.walk(civil, false, after);
        // One walk goes over each time on the wall once. When `after` is in an hour that will be
        // repeated, the repetition is ahead too.
        match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Fold { before, .. } if before == self.zone.to_offset(after) => (),
            _ => return first,
        }
        let Some(change) = self.change_after(after) else { return first };
        if first.is_some_and(|first| first < change) {
            return first;
        }
        let again = self.walk(self.zone.to_datetime(change), true, change);
        first.into_iter().chain(again).min()
    }
    /// The first time of the pattern in the order of the wall, of those that are not before `from`.
    ///
    /// (croner is asked about times without a zone: with one, it has rules of its own for changes
    /// of the clock, which depend on minutes too.)
    fn walk(&self, civil: DateTime, inclusive: bool, from: Timestamp) -> Option<Timestamp> {
        let mut civil = self.cron.find_next_occurrence(&civil, inclusive).ok()?;
        loop {
            if let Some(time) = self.instant(civil, from) {
                return Some(time);
            }
            civil = self.cron.find_next_occurrence(&civil, false).ok()?;
        }
    }
    /// The first moment, not before `from`, at which a run for this time on the wall comes.
    fn instant(&self, civil: DateTime, from: Timestamp) -> Option<Timestamp> {
        let is_named = self.named & 1 << civil.hour() != 0;
        let [first, second] = match self.zone.to_ambiguous_timestamp(civil).offset() {
            AmbiguousOffset::Unambiguous { offset } => [Some(offset), None].map(|at| at?.to_timestamp(civil).ok()),
            AmbiguousOffset::Fold { before, after } => {
                [Some(before), (!is_named).then_some(after)].map(|at| at?.to_timestamp(civil).ok())
            }
            // (By the offset after the gap, a time in it is before the change.)
            AmbiguousOffset::Gap { after, .. } if is_named => {
                [after.to_timestamp(civil).ok().and_then(|before| self.change_after(before)), None]
            }
            AmbiguousOffset::Gap { .. } => [None, None],
        };
        first.into_iter().chain(second).find(|time| *time >= from)
    }
    /// The moment of the next change of the zone's clock.
    fn change_after(&self, time: Timestamp) -> Option<Timestamp> {
        self.zone.following(time).next().map(|change| change.timestamp())
    }
    /// The times after this one.
    pub fn times(&self, after: &Zoned) -> impl Iterator<Item = Zoned> {
        let first = self.next(&after.with_time_zone(self.zone.clone()));
        std::iter::successors(first, |last| self.next(last)).take(self.runs.map_or(usize::MAX, |runs| runs as usize))
    }

    /// What comes now, when the last run counted was that of `last`, and the next is over.
    pub(crate) fn due(&self, last: &Zoned, now: &Zoned) -> Due {
        // (Put back, the clock brings nothing that has come before: times count from the last one.)
        let first = self.next(last).filter(|first| first <= now);
        let Some(counted) = first.as_ref().and_then(|_| self.last_until(last, now)) else {
            return Due { times: Vec::new(), counted: last.clone(), are_missed: false };
        };
        let passed: Vec<Zoned> = match self.missed {
            Missed::All => {
                let next = |time: &Zoned| self.next(time).filter(|next| next <= now);
                std::iter::successors(first.clone(), next).collect()
            }
            _ => vec![counted.clone()],
        };
        // One that comes late by less than a look is not missed.
        let late = now.timestamp().as_second() - counted.timestamp().as_second();
        let is_late = late > LOOK.as_secs() as i64 + 1;
        let is_left_out = is_late && self.missed == Missed::None;
        Due {
            times: if is_left_out { Vec::new() } else { passed },
            are_missed: (is_late || first.as_ref() != Some(&counted)) && self.missed != Missed::None,
            counted,
        }
    }
    /// The last time after `last` that is not after `now`. (Found from behind: after a month of
    /// sleep there may be millions.)
    fn last_until(&self, last: &Zoned, now: &Zoned) -> Option<Zoned> {
        let mut back = Duration::from_secs(1);
        loop {
            let from = now.checked_sub(back).ok().filter(|from| from > last);
            let next = |time: &Zoned| self.next(time).filter(|next| next <= now);
            let found = std::iter::successors(next(from.as_ref().unwrap_or(last)), next).last();
            if found.is_some() || from.is_none() {
                return found;
            }
            back = back.saturating_mul(2);
        }
    }
}

/// The runs that come at one look at the clock.
#[derive(Debug, PartialEq)]
pub(crate) struct Due {
    /// Their times; of those that were missed, as the rule says.
    pub times: Vec<Zoned>,
    /// The next times count from here.
    pub counted: Zoned,
    /// They come in place of runs that were missed.
    pub are_missed: bool,
}

/// The hours that stand by themselves in a pattern that is right, as bits: 2 and 14 of `2,14`, none
/// of `*` and of `1-5`.
fn named_hours(pattern: &str) -> u32 {
    let fields: Vec<&str> = pattern.split_whitespace().collect();
    // (With six fields, and more, the seconds are the first.)
    let hours = fields.get(if fields.len() == 5 { 1 } else { 2 }).copied().unwrap_or_default();
    let named = hours.split(',').filter_map(|hour| hour.parse::<u32>().ok());
    named.filter(|hour| *hour < 24).fold(0, |bits, hour| bits | 1 << hour)
}

#[cfg(test)]
mod test {
    use super::{Due, Missed, Schedule, named_hours};
    use crate::Refused;
    use jiff::Zoned;

    fn at(text: &str) -> Zoned {
        format!("{text}[Europe/Berlin]").parse().unwrap()
    }
    fn times_in(zone: &str, pattern: &str, from: &str, n: usize) -> Vec<String> {
        let from: Zoned = format!("{from}[{zone}]").parse().unwrap();
        let times = Schedule::new(pattern, zone).unwrap();
        times.times(&from).take(n).map(|time| time.strftime("%m-%d %H:%M %:z").to_string()).collect()
    }
    fn times(pattern: &str, from: &str, n: usize) -> Vec<String> {
        times_in("Europe/Berlin", pattern, from, n)
    }
    /// Each line is a pattern, where it starts, and its next times.
    fn check(zone: &str, lines: &[(&str, &str, &[&str])]) {
        for (pattern, from, all) in lines {
            assert_eq!(times_in(zone, pattern, from, all.len()), *all, "{zone}: {pattern} from {from}");
        }
    }

    /// 11: the clocks go forward at 02:00 on 2026-03-29, and back at 03:00 on 2026-10-25.
    #[test]
    fn r11_a_time_in_the_gap_and_one_that_is_there_twice() {
        let spring = times("30 2 * * *", "2026-03-28T12:00", 2);
        assert_eq!(spring, ["03-29 03:00 +02:00", "03-30 02:30 +02:00"], "once, after the gap");
        let autumn = times("30 2 * * *", "2026-10-24T12:00", 2);
        assert_eq!(autumn, ["10-25 02:30 +02:00", "10-26 02:30 +01:00"], "once, the first time");
    }

    /// 11: an hour that the pattern names is one of the day; `*` and ranges mean that time goes by.
    #[test]
    fn r11_changes_of_the_clock_in_berlin() {
        let twice: &[(&str, &str, &[&str])] = &[
            ("15,45 2 * * *", "2026-10-24T12:00", &["10-25 02:15 +02:00", "10-25 02:45 +02:00", "10-26 02:15 +01:00"]),
            ("0 2,3 * * *", "2026-10-24T12:00", &["10-25 02:00 +02:00", "10-25 03:00 +01:00"]),
            ("0 * * * *", "2026-10-25T01:30", &["10-25 02:00 +02:00", "10-25 02:00 +01:00", "10-25 03:00 +01:00"]),
            ("0 */2 * * *", "2026-10-25T01:30", &["10-25 02:00 +02:00", "10-25 02:00 +01:00", "10-25 04:00 +01:00"]),
            ("30 2-3 * * *", "2026-10-25T01:30", &["10-25 02:30 +02:00", "10-25 02:30 +01:00", "10-25 03:30 +01:00"]),
            ("40 1-3,2 * * *", "2026-10-25T01:30", &["10-25 01:40 +02:00", "10-25 02:40 +02:00", "10-25 03:40 +01:00"]),
            (
                "*/30 * * * *",
                "2026-10-25T01:30",
                &["10-25 02:00 +02:00", "10-25 02:30 +02:00", "10-25 02:00 +01:00", "10-25 02:30 +01:00"],
            ),
            // From the hour that is the second.
            ("15,45 2 * * *", "2026-10-25T02:20+01:00", &["10-26 02:15 +01:00"]),
            ("*/30 * * * *", "2026-10-25T02:20+01:00", &["10-25 02:30 +01:00", "10-25 03:00 +01:00"]),
            // The last day of the pattern has its second hour too.
            ("0 30 * 25 10 * 2099", "2099-10-25T02:10+02:00", &["10-25 02:30 +02:00", "10-25 02:30 +01:00"]),
        ];
        check("Europe/Berlin", twice);
        let gap: &[(&str, &str, &[&str])] = &[
            ("15,45 2 * * *", "2026-03-28T12:00", &["03-29 03:00 +02:00", "03-30 02:15 +02:00"]),
            ("*/20 2 * * *", "2026-03-28T12:00", &["03-29 03:00 +02:00", "03-30 02:00 +02:00"]),
            ("30 2,3 * * *", "2026-03-28T12:00", &["03-29 03:00 +02:00", "03-29 03:30 +02:00", "03-30 02:30 +02:00"]),
            ("0 2,3 * * *", "2026-03-28T12:00", &["03-29 03:00 +02:00", "03-30 02:00 +02:00"]),
            ("0 * * * *", "2026-03-29T00:30", &["03-29 01:00 +01:00", "03-29 03:00 +02:00", "03-29 04:00 +02:00"]),
            ("*/30 * * * *", "2026-03-29T01:15", &["03-29 01:30 +01:00", "03-29 03:00 +02:00", "03-29 03:30 +02:00"]),
            ("30 1-3 * * *", "2026-03-29T00:30", &["03-29 01:30 +01:00", "03-29 03:30 +02:00", "03-30 01:30 +02:00"]),
        ];
        check("Europe/Berlin", gap);
    }

    /// 11: the same at another hour, and by half an hour.
    #[test]
    fn r11_changes_of_the_clock_elsewhere() {
        // Back at 02:00 on 2026-11-01, forward at 02:00 on 2026-03-08.
        let new_york: &[(&str, &str, &[&str])] = &[
            ("15,45 1 * * *", "2026-10-31T12:00", &["11-01 01:15 -04:00", "11-01 01:45 -04:00", "11-02 01:15 -05:00"]),
            ("0 * * * *", "2026-11-01T00:30", &["11-01 01:00 -04:00", "11-01 01:00 -05:00", "11-01 02:00 -05:00"]),
            ("15,45 2 * * *", "2026-03-07T12:00", &["03-08 03:00 -04:00", "03-09 02:15 -04:00"]),
            ("*/20 * * * *", "2026-03-08T01:30", &["03-08 01:40 -05:00", "03-08 03:00 -04:00"]),
        ];
        check("America/New_York", new_york);
        // Back from 02:00 to 01:30 on 2026-04-05, forward from 02:00 to 02:30 on 2026-10-04.
        let lord_howe: &[(&str, &str, &[&str])] = &[
            ("15,45 1 * * *", "2026-04-04T12:00", &["04-05 01:15 +11:00", "04-05 01:45 +11:00", "04-06 01:15 +10:30"]),
            ("45 * * * *", "2026-04-05T01:00", &["04-05 01:45 +11:00", "04-05 01:45 +10:30", "04-05 02:45 +10:30"]),
            ("*/30 * * * *", "2026-04-05T01:00", &["04-05 01:30 +11:00", "04-05 01:30 +10:30", "04-05 02:00 +10:30"]),
            ("15,45 2 * * *", "2026-10-03T12:00", &["10-04 02:30 +11:00", "10-04 02:45 +11:00", "10-05 02:15 +11:00"]),
            ("*/20 2 * * *", "2026-10-03T12:00", &["10-04 02:30 +11:00", "10-04 02:40 +11:00", "10-05 02:00 +11:00"]),
            ("0 * * * *", "2026-10-04T00:30", &["10-04 01:00 +10:30", "10-04 03:00 +11:00"]),
        ];
        check("Australia/Lord_Howe", lord_howe);
    }

    #[test]
    fn r11_which_hours_are_named() {
        for (pattern, hours) in [("0 2 * * *", 1 << 2), ("0 0 2,14 * * *", 1 << 2 | 1 << 14), ("0 */2 * * *", 0)] {
            assert_eq!(named_hours(pattern), hours, "{pattern}");
        }
        assert_eq!((named_hours("0 * * * *"), named_hours("0 1-5,23 * * *")), (0, 1 << 23));
        assert_eq!(
            (Schedule::new("@daily", "UTC").unwrap().named, Schedule::new("@hourly", "").unwrap().named),
            (1, 0)
        );
    }

    /// 11: a year of runs, in order, none twice; each so long after the one before.
    #[test]
    fn r11_a_year() {
        for zone in ["Europe/Berlin", "America/New_York", "Australia/Lord_Howe"] {
            let from: Zoned = format!("2026-01-01T00:00[{zone}]").parse().unwrap();
            let all: Vec<_> = Schedule::new("*/10 * * * *", zone).unwrap().times(&from).take(6 * 24 * 365).collect();
            let minutes = |two: &[Zoned]| two[0].duration_until(&two[1]).as_mins();
            assert!(all.windows(2).all(|two| minutes(two) == 10), "{zone}");
            let daily = Schedule::new("15 2 * * *", zone).unwrap();
            assert!(daily.times(&from).take(365).map(|time| time.day_of_year()).eq(1..=365), "{zone}");
        }
        let months = times("0 0 1 * *", "2026-01-01T00:00", 12);
        assert_eq!((months.len(), months[0].as_str()), (12, "02-01 00:00 +01:00"));
    }

    #[test]
    fn r11_what_never_comes_is_refused() {
        for pattern in ["0 0 30 2 *", "61 * * * *", "much"] {
            assert!(matches!(Schedule::new(pattern, "UTC"), Err(Refused::Time(_))), "{pattern}");
        }
        // The message says which of the two is wrong.
        let text = |pattern, zone| Schedule::new(pattern, zone).unwrap_err().to_string();
        let zone = text("* * * * *", "Nowhere/No");
        assert!(zone.contains("the time zone \"Nowhere/No\" is wrong: "), "{zone}");
        let pattern = text("@reboot", "UTC");
        assert!(pattern.contains("the pattern \"@reboot\" is wrong: "), "{pattern}");
    }

    /// 11: missed runs, and a clock that is put back; `until` is inclusive.
    #[test]
    fn r11_missed_runs_and_steps_of_the_clock() {
        let hourly = |missed| Schedule::new("0 * * * *", "Europe/Berlin").unwrap().missed(missed);
        let (last, now) = (at("2026-05-01T10:00"), at("2026-05-01T15:30"));
        let due = |missed| hourly(missed).due(&last, &now);
        assert_eq!(due(Missed::None).times, []);
        assert_eq!(due(Missed::One).times, [at("2026-05-01T15:00")]);
        assert_eq!(due(Missed::All).times.len(), 5);
        assert_eq!(due(Missed::None).counted, at("2026-05-01T15:00"), "what was missed does not come later");
        let in_time = |second, missed| hourly(missed).due(&last, &at(&format!("2026-05-01T11:00:{second}")));
        assert_eq!(in_time("21", Missed::None).times, [at("2026-05-01T11:00")]);
        assert_eq!(in_time("22", Missed::None).times, []);
        assert!(!in_time("21", Missed::All).are_missed && in_time("22", Missed::All).are_missed);
        // After a year of sleep: quickly, and one.
        let rare = Schedule::new("* * 3 * * *", "Europe/Berlin").unwrap().missed(Missed::One);
        let year = rare.due(&last, &at("2027-05-01T10:00"));
        assert_eq!((year.times, year.are_missed), (vec![at("2027-05-01T03:59:59")], true));
        let back = hourly(Missed::All).due(&at("2026-05-01T11:00"), &at("2026-05-01T10:00"));
        assert_eq!(back, Due { times: vec![], counted: at("2026-05-01T11:00"), are_missed: false });
        let until = hourly(Missed::All).until(at("2026-05-01T12:00")).due(&last, &now);
        assert_eq!(until.times, [at("2026-05-01T11:00"), at("2026-05-01T12:00")]);
    }
}
