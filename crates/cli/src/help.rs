//! What follows the options in `myriad bench --help`: the workloads, their forms and sizes, the
//! systems.

use myriad_bench::Workload;

use crate::style::thousands;

/// No line is longer.
const WIDTH: usize = 80;

const EXAMPLES: &str = "\
Examples:
  myriad bench --all                        a line for each form of each workload
  myriad bench chain --n 1000000 --system myriad,tokio --workers 2
  myriad bench relay --payload moved20 --buffer 1000
  myriad bench --scaling                    1, 2 and all workers beside each other
  myriad bench pairs --scaling --workers 1,2,4
  myriad bench fib --full --runs 5";

/// The text.
pub(crate) fn of_bench() -> String {
    let mut text = String::from("Workloads:\n");
    for workload in myriad_bench::workloads() {
        text += &entry(workload.name, &[workload.about.to_owned(), facts(workload)]);
    }
    text += "\nSystems, where they apply:\n";
    text += &entry("", &[myriad_bench::systems().join(", ")]);
    text + "\n" + EXAMPLES
}

/// Forms and sizes.
fn facts(w: &Workload) -> String {
    let forms: Vec<_> = w.forms.iter().map(|form| form.name).collect();
    let plural = if forms.len() == 1 { "" } else { "s" };
    let second = |m: u64| if w.takes.m { format!(", m={}", thousands(m)) } else { String::new() };
    let size = |size: &myriad_bench::Size| format!("n={}{}", thousands(size.n), second(size.m));
    format!("form{plural} {}; {}; --full: {}", forms.join(", "), size(&w.size), size(&w.full))
}

/// A name, and beside it paragraphs, each broken into lines.
fn entry(name: &str, paragraphs: &[String]) -> String {
    const INDENT: usize = 14;
    let mut text = format!("  {name:<width$}", width = INDENT - 2);
    for (i, paragraph) in paragraphs.iter().enumerate() {
        if i > 0 {
            text += &" ".repeat(INDENT);
        }
        let mut column = INDENT;
        for (j, word) in paragraph.split(' ').enumerate() {
            if j > 0 && column + 1 + word.chars().count() > WIDTH {
                text += "\n";
                text += &" ".repeat(INDENT);
                column = INDENT;
            } else if j > 0 {
                text += " ";
                column += 1;
            }
            text += word;
            column += word.chars().count();
        }
        text += "\n";
    }
    text
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn all_workloads_and_systems_are_named_in_short_lines() {
        let text = of_bench();
        let (lists, _) = text.split_once("Examples:").expect("they come last");
        assert!(lists.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        for workload in myriad_bench::workloads() {
            assert!(text.contains(&format!("\n  {} ", workload.name)), "{text}");
        }
        let words: Vec<_> = text.split([' ', ',', '\n']).collect();
        assert!(myriad_bench::systems().iter().all(|system| words.contains(system)), "{text}");
    }

    #[test]
    fn long_lines_are_broken() {
        let long = vec!["word"; 30].join(" ");
        let text = entry("name", &[long.clone(), "end".into()]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4);
        assert!(lines.iter().all(|line| line.len() <= WIDTH) && lines[0].starts_with("  name        word word"));
        assert_eq!(text.split_whitespace().filter(|word| *word == "word").count(), 30);
    }
}
