//! The documents for users stay short, and the numbers in them true.

use crate::support::{files, read, root};
use std::collections::BTreeSet;
use std::process::Command;

/// The most words of all documents for users: README and docs, without what is for developers, the
/// argument about soundness, and the report of measurements. (15,000 before there were
/// actors, jobs and flow, which are subjects of their own; 19,500 before dataflow, 20,000
/// before sockets, 20,800 before HTTP and a page for futures, 22,300 before
/// values that are kept on disk, 22,500 before waiting jobs could be changed.)
const WORDS: usize = 22_700;
const LINES_OF_README: usize = 250;

#[test]
fn documents_are_short() {
    let mut texts = vec![("README.md".to_owned(), read("README.md"))];
    for path in files(&root().join("docs"), "md", false) {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if !["SOUNDNESS.md", "BENCHMARKS.md"].contains(&name.as_str()) {
            texts.push((name, read(&path)));
        }
    }
    let lines = texts[0].1.lines().count();
    assert!(lines <= LINES_OF_README, "README.md has {lines} lines, the most is {LINES_OF_README}");
    // (The bars of a table and the marks of a list are no words.)
    let is_word = |word: &&str| word.chars().any(char::is_alphanumeric);
    let words = |text: &str| text.split_whitespace().filter(is_word).count();
    let all: usize = texts.iter().map(|(_, text)| words(text)).sum();
    let each: Vec<_> = texts.iter().map(|(name, text)| format!("{name} {}", words(text))).collect();
    assert!(all <= WORDS, "the documents have {all} words, the most is {WORDS}: {}", each.join(", "));
}

/// README says on which packages of others the library depends.
#[test]
fn readme_names_the_dependencies() {
    let tree = Command::new(env!("CARGO"))
        .args([
            "tree",
            "-p",
            "myriad-rt",
            "-e",
            "normal",
            "--prefix",
            "none",
            "--format",
            "{p}",
            "--locked",
            "--offline",
        ])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8(tree.stdout).unwrap();
    let packages: BTreeSet<_> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    let foreign: Vec<_> = packages.iter().filter(|name| !name.starts_with("myriad")).copied().collect();
    assert!(packages.contains("myriad-core"), "cargo tree told nothing:\n{tree}");
    assert_eq!(
        foreign,
        [
            "bitflags",
            "errno",
            "futures-core",
            "futures-sink",
            "libc",
            "linux-raw-sys",
            "rustix",
            "signal-hook-registry",
            "socket2"
        ],
        "then README.md says something else"
    );
    let readme = read("README.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let said = "**Dependencies** of the library: `libc` on unixes, `signal-hook-registry` on Linux, and the traits of `futures-core` and \
                `futures-sink`; with the feature `net`, which is on, `rustix` and `socket2`.";
    assert!(readme.contains(said), "README.md has to say: {said}");
}
