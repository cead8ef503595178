//! Programs in C and C++, compiled and linked with the library that was just built, in both modes.
//!
//! They lie in `tests/c/`. `MYRIAD_C_FLAGS` adds flags for the compilers (`-fsanitize=address`).

#![cfg(target_os = "linux")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const MODES: [&str; 2] = ["threads", "fibers"];

fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Where cargo has put the libraries: beside this test.
fn built(name: &str) -> PathBuf {
    let exe = std::env::current_exe().unwrap();
    let file = exe.parent().unwrap().join(name);
    assert!(file.exists(), "cargo has not built {}", file.display());
    file
}

/// A folder with the libraries under the names that they are installed with.
fn libraries(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(test);
    _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let shared = built("libmyriad_capi.so");
    for name in ["libmyriad.so", "libmyriad.so.0"] {
        std::os::unix::fs::symlink(&shared, folder.join(name)).unwrap();
    }
    folder
}

/// Compiles a program of `tests/c/`; returns its path. Without a C++ compiler programs in C++ are
/// skipped, in words.
fn compile(source: &str, folder: &Path, link: &[&str]) -> Option<PathBuf> {
    let (variable, default, standard) =
        if source.ends_with(".cpp") { ("CXX", "c++", "-std=c++17") } else { ("CC", "cc", "-std=c11") };
    let compiler = std::env::var(variable).unwrap_or_else(|_| default.into());
    let program = folder.join(Path::new(source).with_extension("out").file_name().unwrap());
    let more = std::env::var("MYRIAD_C_FLAGS").unwrap_or_default();
    let output = Command::new(&compiler)
        .args([standard, "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-fstack-clash-protection"])
        .args(more.split_whitespace())
        .arg("-I")
        .arg(here().join("include"))
        .arg(here().join("tests/c").join(source))
        .arg("-o")
        .arg(&program)
        .args(link)
        .args(["-lpthread", "-lm", "-ldl"])
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) if variable == "CXX" && !required() => {
            skip(&format!("{source}: {compiler}: {error}; install a C++ compiler, or name one by CXX"));
            return None;
        }
        Err(error) => panic!("{compiler}: {error}; install a compiler, or name one by {variable}"),
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(program)
}

/// With `MYRIAD_FOREIGN=required` nothing is skipped.
fn required() -> bool {
    std::env::var_os("MYRIAD_FOREIGN").is_some_and(|value| value == "required")
}

fn skip(why: &str) {
    // Not by `eprintln!`, which is shown only for tests that fail.
    _ = writeln!(std::io::stderr(), "SKIPPED: {why}");
}

fn shared(source: &str, test: &str) -> Option<PathBuf> {
    let folder = libraries(test);
    let (l, rpath) = (format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display()));
    compile(source, &folder, &[&l, "-lmyriad", &rpath])
}

/// Runs it, at most for two minutes.
fn run(program: &Path, arguments: &[&str]) -> Output {
    Command::new("timeout").arg("120").arg(program).args(arguments).output().unwrap()
}

#[track_caller]
fn all_is_well(program: &Path, mode: &str) {
    let output = run(program, &[mode]);
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success() && out == "all is well\n", "{mode}: {}\n{out}{err}", output.status);
}

#[test]
fn a_program_in_c() {
    let program = shared("program.c", "c").unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

#[test]
fn cancelling_and_selecting() {
    let program = shared("cancel.c", "cancel").unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// The program in `docs/C.md` is one, and does what it says.
#[test]
fn the_program_of_the_guide() {
    let guide = std::fs::read_to_string(here().join("../../docs/C.md")).unwrap();
    let programs: Vec<_> = guide.split("```c\n").skip(1).filter_map(|part| part.split("```").next()).collect();
    let program = programs.into_iter().find(|program| program.contains("int main")).expect("a program in the guide");
    let folder = libraries("guide");
    let source = folder.join("guide.c");
    std::fs::write(&source, program).unwrap();
    let (l, rpath) = (format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display()));
    let program = compile(source.to_str().unwrap(), &folder, &[&l, "-lmyriad", &rpath]).unwrap();
    let output = run(&program, &[]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(String::from_utf8_lossy(&output.stdout), "2\n4\n6\n8\n10\n12\n14\n16\n18\n20\n");
}

#[test]
fn misuse_is_an_error() {
    let program = shared("misuse.c", "misuse").unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// Handles of tasks, channels and locks that are no longer valid: an error, never undefined
/// behaviour.
#[test]
fn stale_handles_are_errors() {
    let program = shared("handles.c", "handles").unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// Functions of the program's that the library calls, and that call it again.
#[test]
fn callbacks_that_call_back() {
    let program = shared("callbacks.c", "callbacks").unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// A child uses channels, locks and times, whatever threads of its parent were in when it came
/// about.
#[test]
fn a_child_beside_busy_threads() {
    let program = shared("fork.c", "fork").unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

#[test]
fn the_text_of_the_last_error() {
    let program = shared("last_error.c", "last_error").unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// `dlclose` when the library's threads have ended, and while they live; and `dlopen` again.
#[test]
fn closed_and_opened_again() {
    let folder = libraries("unload");
    let program = compile("unload.c", &folder, &[]).unwrap();
    for (mode, threads) in MODES.into_iter().flat_map(|mode| [(mode, "ended"), (mode, "live")]) {
        // Not by `timeout`, which would not tell how it ended.
        let library = folder.join("libmyriad.so.0");
        let output = Command::new(&program).arg(mode).arg(&library).arg(threads).output().unwrap();
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        assert!(output.status.success() && out == "all is well\n", "{mode}, {threads}: {}\n{out}{err}", output.status);
    }
}

#[test]
fn a_program_in_cpp() {
    let Some(program) = shared("program.cpp", "cpp") else { return };
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// A C++ exception that leaves a function of the program's ends the process, and says so, wherever
/// it was called; it is not undefined.
#[test]
fn an_exception_that_leaves_a_task() {
    use std::os::unix::process::ExitStatusExt;
    let Some(program) = shared("program.cpp", "throw") else { return };
    let places = ["task", "run", "blocking", "keep_thread", "shield", "loop", "gang"];
    let in_tasks = places.map(|place| format!("t:{place}"));
    for place in places.into_iter().chain(in_tasks.iter().map(String::as_str)) {
        for mode in MODES {
            // Not by `timeout`, which would not tell how it ended.
            let output = Command::new(&program).args([mode, place]).output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.signal(), Some(6), "{mode}, {place}: {}\n{err}", output.status);
            assert!(err.contains("foreign exception"), "{mode}, {place}: {err}");
        }
    }
}

/// The static library, with nothing of ours to find when the program starts.
#[test]
fn linked_statically() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("static");
    std::fs::create_dir_all(&folder).unwrap();
    let archive = built("libmyriad_capi.a");
    let program = compile("program.c", &folder, &[archive.to_str().unwrap(), "-lgcc_s"]).unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// FFTW's loops are tasks of a C program. Skipped, in words, where FFTW is not installed, unless
/// `MYRIAD_FOREIGN=required`.
#[test]
fn fftw() {
    let found = ["/usr/include", "/usr/local/include"].iter().any(|folder| Path::new(folder).join("fftw3.h").exists());
    if !found && !required() {
        return skip("FFTW from C: there is no fftw3.h (Debian: libfftw3-dev)");
    }
    let folder = libraries("fftw");
    let (l, rpath) = (format!("-L{}", folder.display()), format!("-Wl,-rpath,{}", folder.display()));
    let program = compile("fftw.c", &folder, &[&l, "-lmyriad", &rpath, "-lfftw3_threads", "-lfftw3"]).unwrap();
    MODES.iter().for_each(|mode| all_is_well(&program, mode));
}

/// What a program asks for when it starts is the name with the version of the interface.
#[test]
fn the_library_knows_its_name() {
    let library = std::fs::read(built("libmyriad_capi.so")).unwrap();
    let name = b"libmyriad.so.0\0";
    assert!(library.windows(name.len()).any(|part| part == name));
}
