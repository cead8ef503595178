//! Colours, and numbers for people.

use std::io::IsTerminal;

/// Whether text is coloured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// No colours.
    #[cfg(test)]
    pub(crate) const PLAIN: Style = Style { colour: false };

    /// Colours if standard output is a terminal that can, and nobody has set `NO_COLOR`
    /// (<https://no-color.org>).
    pub(crate) fn of_stdout() -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|v| !v.is_empty());
        let dumb = std::env::var_os("TERM").is_some_and(|t| t == "dumb");
        Style { colour: std::io::stdout().is_terminal() && !refused && !dumb }
    }

    /// Is it for a terminal that can?
    pub(crate) fn has_colour(self) -> bool {
        self.colour
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour { format!("\x1b[{code}m{text}\x1b[0m") } else { text.into() }
    }

    /// For what matters most.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// For what matters least.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// For good news.
    pub(crate) fn good(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// For bad news.
    pub(crate) fn bad(self, text: &str) -> String {
        self.paint("31", text)
    }
}

/// Three digits of a number that is not negative.
pub(crate) fn digits(x: f64) -> String {
    match x {
        x if x >= 99.95 => format!("{x:.0}"),
        x if x >= 9.995 => format!("{x:.1}"),
        x => format!("{x:.2}"),
    }
}

/// A time for one operation: always in nanoseconds, so that lines compare at a glance.
pub(crate) fn nanoseconds(ns: f64) -> String {
    if ns < 999.5 { format!("{} ns", digits(ns)) } else { format!("{} ns", thousands(ns.round() as u64)) }
}

/// A time given in nanoseconds, in the unit that suits it.
pub(crate) fn time(ns: f64) -> String {
    match ns {
        ns if ns < 9_999.5 => format!("{} ns", digits(ns)),
        ns if ns < 9_999_500.0 => format!("{} µs", digits(ns / 1e3)),
        ns if ns < 999_500_000.0 => format!("{} ms", digits(ns / 1e6)),
        ns => format!("{} s", digits(ns / 1e9)),
    }
}

/// A time given in nanoseconds, in two or three digits, for a narrow column.
pub(crate) fn short_time(ns: f64) -> String {
    let short = |x: f64, unit| if x < 9.95 { format!("{x:.1} {unit}") } else { format!("{x:.0} {unit}") };
    match ns {
        ns if ns < 0.995 => format!("{ns:.2} ns"),
        ns if ns < 999.5 => short(ns, "ns"),
        ns if ns < 999_500.0 => short(ns / 1e3, "µs"),
        ns if ns < 999_500_000.0 => short(ns / 1e6, "ms"),
        ns => short(ns / 1e9, "s"),
    }
}

/// An amount of memory, in the unit that suits it.
pub(crate) fn bytes(b: f64) -> String {
    match b {
        b if b < 9_999.5 => format!("{b:.0} B"),
        b if b < 1024.0 * 1024.0 => format!("{} KiB", digits(b / 1024.0)),
        b if b < 1024.0 * 1024.0 * 1024.0 => format!("{} MiB", digits(b / 1024.0 / 1024.0)),
        b => format!("{} GiB", digits(b / 1024.0 / 1024.0 / 1024.0)),
    }
}

/// A whole number with its thousands apart: 1,000,000.
pub(crate) fn thousands(n: u64) -> String {
    let plain = n.to_string();
    let mut apart = String::new();
    for (i, digit) in plain.chars().enumerate() {
        if i > 0 && (plain.len() - i).is_multiple_of(3) {
            apart.push(',');
        }
        apart.push(digit);
    }
    apart
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn numbers_for_people() {
        assert_eq!(digits(1.234), "1.23");
        assert_eq!(digits(12.34), "12.3");
        assert_eq!(digits(1234.5), "1234");
        assert_eq!(nanoseconds(8.04), "8.04 ns");
        assert_eq!(nanoseconds(11_123.4), "11,123 ns");
        assert_eq!(time(8.04), "8.04 ns");
        assert_eq!(time(31_400.0), "31.4 µs");
        assert_eq!(time(41_200_000.0), "41.2 ms");
        assert_eq!(time(1.49e9), "1.49 s");
        assert_eq!(short_time(0.312), "0.31 ns");
        assert_eq!(short_time(8.04), "8.0 ns");
        assert_eq!(short_time(999.6), "1.0 µs");
        assert_eq!(short_time(41_200_000.0), "41 ms");
        assert_eq!(bytes(250.4), "250 B");
        assert_eq!(bytes(3.5 * 1024.0 * 1024.0), "3.50 MiB");
        assert_eq!(thousands(7), "7");
        assert_eq!(thousands(1_234_567), "1,234,567");
        assert_eq!(thousands(100_000), "100,000");
    }

    #[test]
    fn plain_text_has_no_escapes() {
        assert_eq!(Style::PLAIN.good("x"), "x");
        assert_eq!(Style { colour: true }.good("x"), "\x1b[32mx\x1b[0m");
    }
}
