//! A table of text: columns as wide as their widest line, cells of several lines, rules between the
//! rows.

use console::{Alignment, measure_text_width, pad_str};
use std::fmt;

/// A cell: its lines, and on which side they stand.
#[derive(Debug, Clone)]
pub(crate) struct Cell(Vec<String>, Alignment);

impl Cell {
    /// Lines that begin at the left.
    pub(crate) fn left(lines: &[String]) -> Cell {
        Cell(lines.to_vec(), Alignment::Left)
    }

    /// Lines that end at the right: numbers.
    pub(crate) fn right(lines: &[String]) -> Cell {
        Cell(lines.to_vec(), Alignment::Right)
    }

    /// The lines of a text, at the left.
    pub(crate) fn text(text: &str) -> Cell {
        Cell(text.lines().map(String::from).collect(), Alignment::Left)
    }
}

/// The rows, of which the first is the header. Each has as many cells.
#[derive(Debug)]
pub(crate) struct Grid(Vec<Vec<Cell>>);

impl Grid {
    /// A table with this header.
    pub(crate) fn new(header: impl IntoIterator<Item = String>) -> Grid {
        Grid(vec![header.into_iter().map(|title| Cell::text(&title)).collect()])
    }

    /// One more row.
    pub(crate) fn push(&mut self, row: Vec<Cell>) {
        debug_assert_eq!(row.len(), self.0[0].len());
        self.0.push(row);
    }
}

impl fmt::Display for Grid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width_of = |cell: &Cell| cell.0.iter().map(|line| measure_text_width(line)).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.0[0].len())
            .map(|column| self.0.iter().map(|row| width_of(&row[column])).max().unwrap_or(0))
            .collect();
        let whole = widths.iter().sum::<usize>() + widths.len() - 1;
        writeln!(f, "{}", "─".repeat(whole))?;
        for (i, row) in self.0.iter().enumerate() {
            for line in 0..row.iter().map(|cell| cell.0.len()).max().unwrap_or(0) {
                let cells = row.iter().zip(&widths).map(|(Cell(lines, alignment), &width)| {
                    pad_str(lines.get(line).map_or("", String::as_str), width, *alignment, None)
                });
                writeln!(f, "{}", cells.collect::<Vec<_>>().join(" ").trim_end())?;
            }
            let rule = if i == 0 { "═" } else { "─" };
            // (The last one ends without a new line, as texts do here.)
            let end = if i + 1 == self.0.len() { "" } else { "\n" };
            write!(f, "{}{end}", rule.repeat(whole))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_line_and_colours_count_for_nothing() {
        let mut grid = Grid::new(["name", "\x1b[1mtime\x1b[0m"].map(String::from));
        grid.push(vec![Cell::text("relay\nfuture"), Cell::right(&["\x1b[32m9 ns\x1b[0m".into(), "–".into()])]);
        grid.push(vec![Cell::left(&["µ".into()]), Cell::right(&["12,345".into()])]);
        let rules = ["─".repeat(13), "═".repeat(13)];
        let expected = format!(
            "{0}\nname   \x1b[1mtime\x1b[0m\n{1}\nrelay    \x1b[32m9 ns\x1b[0m\nfuture      –\n{0}\nµ      12,345\n{0}",
            rules[0], rules[1]
        );
        assert_eq!(grid.to_string(), expected);
    }
}
