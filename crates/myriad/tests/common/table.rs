//! A table of situations: what comes out of another system, and of Myriad where that differs.
//!
//! A line has a name, the situation, the outcome there, and perhaps the outcome here, and why. A
//! dash is none: there is no such call.

/// A situation, by its name: what comes out.
pub(crate) type Situation = (&'static str, fn() -> Vec<String>);

/// Runs each situation, and compares what comes out.
#[track_caller]
pub(crate) fn check(table: &str, situations: &[Situation]) {
    let rows = table.lines().filter(|line| !line.starts_with('#'));
    let rows = rows.map(|line| line.split('|').map(str::trim).collect::<Vec<_>>());
    let rows: Vec<_> = rows.filter(|row| row.get(3) != Some(&"-")).collect();
    let names: Vec<_> = rows.iter().map(|row| row[0]).collect();
    assert_eq!(names, situations.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    for (row, (name, situation)) in rows.iter().zip(situations) {
        let expected = row.get(3).unwrap_or(&row[2]);
        assert_eq!(situation().join(" "), *expected, "{name}: {}", row[1]);
    }
}
