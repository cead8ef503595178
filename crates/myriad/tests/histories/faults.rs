//! Faults, planted in a copy of the sources, that the checker has to find: `scripts/histories.sh
//! faults`.
//!
//! All stand in one build, and each is switched on by its name:
//! [`fault`](myriad_base::sys::mutant::fault), as in `scripts/faults.sh`. The steps that loom's
//! mutants drop ([`on`](myriad_base::sys::mutant::on)) are faults there, too.

mod table;

use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use table::{FAULTS, MUTANTS_ARE_FAULTS};

/// The workspace.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("a workspace").to_owned()
}

/// The places of all faults by the files in which they are: what stands there, and what is put in
/// its place.
fn edits() -> BTreeMap<&'static str, Vec<(&'static str, String)>> {
    let mut edits: BTreeMap<&str, Vec<(&str, String)>> = BTreeMap::new();
    let (file, old, new) = MUTANTS_ARE_FAULTS;
    edits.entry(file).or_default().push((old, new.to_string()));
    for (name, _, of) in FAULTS {
        for (file, old, new) in *of {
            let of_crate = if file.starts_with("base/") { "crate" } else { "myriad_base" };
            let new = new.replace("FAULT", &format!("{of_crate}::sys::mutant::fault(\"{name}\")"));
            edits.entry(file).or_default().push((old, new));
        }
    }
    edits
}

/// The text of a file with its faults.
fn with_faults(file: &str, mut source: String, edits: &[(&str, String)]) -> String {
    for (old, new) in edits {
        assert_eq!(source.matches(old).count(), 1, "{file} has not once the text of a fault:\n{old}");
        source = source.replace(old, new);
    }
    source
}

/// Without a build: so that whoever changes one of these places hears of it at once.
#[test]
fn every_fault_has_its_place() {
    for (file, edits) in edits() {
        let source =
            std::fs::read_to_string(root().join("crates").join(file)).unwrap_or_else(|e| panic!("{file}: {e}"));
        with_faults(file, source, &edits);
    }
}

/// Copies what git knows, with all faults planted. What is there already is not written again, so
/// that it is not built again.
fn plant(to: &Path) {
    let mut edits = edits();
    let listed =
        Command::new("git").args(["ls-files", "-co", "--exclude-standard"]).current_dir(root()).output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    prune(&to.join("crates"), &listed.lines().map(|file| to.join(file)).collect());
    for file in listed.lines() {
        let Ok(mut text) = std::fs::read(root().join(file)) else { continue };
        if let Some(edits) = edits.remove(file.trim_start_matches("crates/")) {
            text = with_faults(file, String::from_utf8(text).unwrap(), &edits).into_bytes();
        }
        let copy = to.join(file);
        if std::fs::read(&copy).ok().as_ref() != Some(&text) {
            std::fs::create_dir_all(copy.parent().unwrap()).unwrap();
            std::fs::write(copy, text).unwrap();
        }
    }
    assert!(edits.is_empty(), "these files are not there: {:?}", edits.keys());
}

/// Removes files that are not among these.
fn prune(folder: &Path, files: &HashSet<PathBuf>) {
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            prune(&path, files);
        } else if !files.contains(&path) {
            std::fs::remove_file(path).unwrap();
        }
    }
}

/// Builds this program from the copy, and says where it is.
fn build(copy: &Path) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut build = Command::new(cargo);
    build.args(["test", "-p", "myriad-rt", "--test", "histories", "--no-run"]).current_dir(copy);
    if !cfg!(debug_assertions) {
        build.arg("--release");
    }
    let flags = format!("{} --cfg myriad_faults -A warnings", std::env::var("RUSTFLAGS").unwrap_or_default());
    let built = build.env("RUSTFLAGS", flags).env("CARGO_TARGET_DIR", copy.join("target")).output().unwrap();
    let said = String::from_utf8(built.stderr).unwrap();
    assert!(built.status.success(), "{said}");
    let name = said.lines().filter_map(|line| line.trim().strip_prefix("Executable")?.rsplit_once('(')).next_back();
    copy.join(name.expect("a program").1.trim_end_matches(')'))
}

/// The time that each fault may take.
const LIMIT: Duration = Duration::from_secs(60);

#[test]
#[ignore = "builds the engine anew: scripts/histories.sh faults"]
fn every_fault_is_found() {
    let only: String = super::variable("MYRIAD_HISTORY_FAULT").unwrap_or_default();
    let copy = root().join("target/history-faults");
    plant(&copy);
    let program = build(&copy);
    let mut survivors = Vec::new();
    for (name, object, _) in FAULTS.iter().filter(|fault| fault.0.contains(&only)) {
        let start = Instant::now();
        let status = Command::new(&program)
            .args(["every_object", "--exact"])
            .env("MYRIAD_FAULT", name)
            .env("MYRIAD_HISTORY_ONLY", object)
            .env("MYRIAD_HISTORY_FIRST", "1")
            .env("MYRIAD_HISTORY_SECONDS", LIMIT.as_secs().to_string())
            // A program that hangs is found, too.
            .env("MYRIAD_TEST_PATIENCE", "5")
            .env("RUST_BACKTRACE", "0")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap();
        let verdict = if status.success() { "SURVIVED" } else { "found" };
        println!("{name:26} {object:18} {verdict:8} {:5.1} s", start.elapsed().as_secs_f64());
        if status.success() {
            survivors.push(*name);
        }
    }
    assert!(survivors.is_empty(), "not found: {survivors:?}");
}
