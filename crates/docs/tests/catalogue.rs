//! `docs/ERRORS.md` has each message of the library.
//!
//! A message is a string of five words or more in the sources, but for what only a developer sees:
//! `expect`, `unreachable!`, `debug_assert!`, assertions of constants, attributes, and the files
//! and strings below. It is in the catalogue if the beginning of a part between its placeholders
//! is.

use crate::support::{files, read, root};

const CRATES: [&str; 7] = ["base", "core", "task", "sync", "par", "actor", "agent"];

/// Files without messages: tests, models, what `doctor`, metrics and the compiler print, and why a
/// task waits.
const FILES: &[&str] = &[
    "/test.rs",
    "/test/",
    "/figures.rs",
    "/facts.rs",
    "/switch/",
    "base/src/platform.rs",
    "base/src/sys/atomic.rs",
    "core/src/api/closure.rs",
    "core/src/queue/reason.rs",
    "core/src/runtime/metrics/",
    "core/src/runtime/report.rs",
    "core/src/runtime/dump/json.rs",
    "core/src/runtime/dump/text.rs",
    "core/src/runtime/dump/why.rs",
    "core/src/queue/policy/label.rs",
];

/// Strings that are no messages: names of code whose panic is reported, parts of messages, and
/// assertions about Myriad itself.
const OTHERS: &[&str] = &[
    "bug in Myriad",
    "a generator that shifts its own bits",
    "the number of a worker is one of",
    "user code would run wherever",
    "the result of a call that nobody waits for",
    "what the last handle of a token holds",
    "what a closure of on_cancel holds",
    "a thread for functions of users",
    "the thread that writes dumps",
    "the thread that tells of a deadlock",
    "what a Pool does with an object",
    "head {head:#x}, split",
    "task '{",
    "the task spawned at",
    "no place for a spare",
    "a result that nobody took",
    "a local task that was cancelled",
    "the destructor of a message",
    "ThreadHooks {{",
    "a part is within the whole",
    "nobody else has the record yet",
    "the target is here until it is in a list",
    "the object is there until the guard is dropped",
    "there is no worker {index}",
    "(a payload that is not text)",
    "A future that is ready when",
    "a guard page takes 2",
    "(vm.max_map_count = {max}; a thread takes",
    "a detached task (spawned at {location})",
    "a biased lock inside a biased lock",
    "what an actor does at its end",
    "the terminate of a server",
    "the error handler of an agent",
    "the destructor of an agent's value",
    "each monitor is told once",
    "digraph supervisors",
    "[shape={shape}",
];

/// So many characters of a message must be there, up to the end of a word.
const ENOUGH: usize = 28;
/// A part between placeholders with fewer characters says nothing.
const LEAST: usize = 12;

#[test]
fn the_catalogue_has_each_message() {
    let catalogue = plain(&read("docs/ERRORS.md"));
    let (mut messages, mut missing) = (0, Vec::new());
    let mut unused = OTHERS.to_vec();
    for path in CRATES.iter().flat_map(|name| files(&root().join("crates").join(name).join("src"), "rs", true)) {
        let shown = path.to_str().unwrap().replace('\\', "/");
        if FILES.iter().any(|part| shown.contains(part)) {
            continue;
        }
        for text in strings(&read(&path)) {
            let text = plain(&text);
            if text.split(' ').count() < 5 {
                continue;
            }
            if let Some(other) = OTHERS.iter().find(|other| text.contains(**other)) {
                unused.retain(|unused| unused != other);
                continue;
            }
            messages += 1;
            let parts = beginnings(&text);
            if !parts.iter().any(|part| catalogue.contains(part)) {
                missing.push(format!("{shown}: `{}` of: {text}", parts[0]));
            }
        }
    }
    assert!(messages > 100, "only {messages} messages were found: is the search right?");
    assert!(unused.is_empty(), "no such string is left: {unused:?}");
    assert!(missing.is_empty(), "docs/ERRORS.md has no entry for\n{}", missing.join("\n"));
}

/// Without line ends, backticks and escapes.
fn plain(text: &str) -> String {
    let text = text.replace("\\\n", "").replace("\\\"", "\"").replace("\\n", " ").replace(['`', '|'], "");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The beginnings of its parts between placeholders; those of a few letters only if there is no
/// other.
fn beginnings(text: &str) -> Vec<&str> {
    let text = text.trim_start_matches("myriad: ");
    let mut parts: Vec<_> =
        text.split(['{', '}']).step_by(2).map(|part| part.trim_matches([' ', '\'', '.', ',', ';', ':'])).collect();
    parts.sort_by_key(|part| std::cmp::Reverse(part.len()));
    let long = parts.iter().filter(|part| part.len() >= LEAST).count().max(1);
    parts.truncate(long);
    let begin = |part: &'_ str| {
        part.char_indices().nth(ENOUGH).map_or(part.len(), |(at, _)| part[..at].rfind(' ').unwrap_or(at))
    };
    parts.into_iter().map(|part| part[..begin(part)].trim_end_matches([',', ';', ':', '.'])).collect()
}

/// The string literals of a source, but for those of developers.
fn strings(source: &str) -> Vec<String> {
    // Tests stand at the end.
    let source = source.split("\nmod test {").next().unwrap();
    let (mut found, mut constant) = (Vec::new(), false);
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let before = &rest[..at];
        constant = if let Some(end) = before.rfind(';') {
            before[end..].contains("const _: () =")
        } else {
            constant || before.contains("const _: () =")
        };
        rest = &rest[at..];
        if rest.starts_with("//") {
            rest = rest.split_once('\n').map_or("", |(_, next)| next);
        } else if let Some(next) = rest.strip_prefix("'\"'").or(rest.strip_prefix("'\\\"'")) {
            rest = next;
        } else if !rest.starts_with('"') {
            rest = &rest[1..];
        } else {
            let end = end_of_string(&rest[1..]);
            let developers = ["expect(", "unreachable!(", "must_use = ", "reason = ", "debug_assert"];
            let line = before.trim_end();
            let statement = &line[line.rfind([';', '{', '}']).map_or(0, |at| at + 1)..];
            if !constant && !developers.iter().any(|word| statement.contains(word.trim_end())) {
                found.push(rest[1..=end].to_owned());
            }
            rest = &rest[end + 2..];
        }
    }
    found
}

fn end_of_string(text: &str) -> usize {
    let mut escaped = false;
    text.find(|c| {
        let end = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        end
    })
    .unwrap_or_else(|| panic!("a string without an end: {}", &text[..text.len().min(80)]))
}
