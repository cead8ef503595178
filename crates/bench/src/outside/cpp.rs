//! Libraries of C++: a header, which the compiler finds or does not, and perhaps a library to link.

use std::env;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::built::{built, does_not_compile};
use super::{Program, in_path};
use crate::record::Failure;

/// What there is to know about a library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    /// A header that is quickly read, and the macro in it that is the version.
    header: &'static str,
    version: &'static str,
    /// The variable that names a folder of headers.
    folder: &'static str,
    arguments: &'static [&'static str],
    /// How one gets it.
    get: &'static str,
}

/// oneTBB.
pub(crate) static TBB: Library = Library {
    name: "tbb",
    header: "tbb/version.h",
    version: "TBB_VERSION_STRING",
    folder: "TBB_INCLUDE",
    arguments: &["-DMYRIAD_TBB", "-ltbb"],
    get: "install oneTBB (Debian: libtbb-dev)",
};

/// Taskflow, which is all headers.
pub(crate) static TASKFLOW: Library = Library {
    name: "taskflow",
    header: "taskflow/taskflow.hpp",
    version: "TF_VERSION",
    folder: "TASKFLOW_INCLUDE",
    arguments: &["-DMYRIAD_TASKFLOW"],
    get: "say by TASKFLOW_INCLUDE which folder has taskflow/taskflow.hpp",
};

/// Its tasks that are made one by one, with what they depend on.
pub(crate) static TASKFLOW_DEPENDENT: Library = Library {
    name: TASKFLOW.name,
    header: TASKFLOW.header,
    version: TASKFLOW.version,
    folder: TASKFLOW.folder,
    arguments: &["-DMYRIAD_DEPENDENT"],
    get: TASKFLOW.get,
};

/// A library that was found.
#[derive(Debug, Hash)]
pub(crate) struct Found {
    compiler: PathBuf,
    /// In which folder its headers are, if the compiler has to be told.
    folder: Option<OsString>,
    version: String,
}

/// Looks for a compiler and the library.
pub(crate) fn find(library: &Library) -> Result<Found, Failure> {
    let compiler = match env::var_os("CXX").filter(|name| !name.is_empty()) {
        Some(name) => Some(name.into()),
        None => ["c++", "g++", "clang++"].into_iter().find_map(in_path),
    };
    let compiler =
        compiler.ok_or_else(|| Failure::Cannot("there is no C++ compiler: install one, or name it by CXX".into()))?;
    let mut found = Found { compiler, folder: env::var_os(library.folder), version: String::new() };
    // The preprocessor says whether the header is there, and of which version it is.
    let mut child = compiling(&found)
        .args(["-E", "-P", "-x", "c++", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| Failure::Cannot(format!("the C++ compiler {}: {e}", found.compiler.display())))?;
    let source = format!("#include <{}>\n{}\n", library.header, library.version);
    if let Some(mut input) = child.stdin.take() {
        // (A compiler that does not read has failed, as is seen below.)
        _ = input.write_all(source.as_bytes());
    }
    let out = child.wait_with_output().map_err(|e| Failure::Wrong(format!("the C++ compiler is lost: {e}")))?;
    if !out.status.success() {
        return Err(Failure::Cannot(format!("{} is not there: {}", library.header, library.get)));
    }
    found.version = String::from_utf8_lossy(&out.stdout).lines().last().unwrap_or_default().into();
    Ok(found)
}

/// Starts the program of this source, which is built if it has not been.
pub(crate) fn start(library: &'static Library, source: &str, argument: usize) -> Result<Program, Failure> {
    let found = find(library)?;
    let of = (&found, source, library.arguments, OPTIONS);
    let program = built(library.name, of, |path| build(library, &found, source, path))?;
    let mut command = Command::new(program);
    command.arg(argument.to_string());
    Program::start(library.name, command)
}

/// As ours are built: for any processor of the kind, and without fused multiplication.
const OPTIONS: &[&str] = &["-O3", "-DNDEBUG", "-pthread", "-ffp-contract=off"];

fn build(library: &Library, found: &Found, source: &str, path: &Path) -> Result<(), Failure> {
    let lost = |e| Failure::Wrong(format!("the C++ compiler is lost: {e}"));
    // A compiler stops to read at the first error, but reads all of a program before.
    let mut child = compiling(found)
        .args(OPTIONS)
        .args(["-x", "c++", "-", "-o"])
        .arg(path)
        .args(library.arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(lost)?;
    if let Some(mut input) = child.stdin.take() {
        _ = input.write_all(source.as_bytes());
    }
    let out = child.wait_with_output().map_err(lost)?;
    if out.status.success() { Ok(()) } else { Err(does_not_compile(library.name, &out.stderr)) }
}

fn compiling(found: &Found) -> Command {
    let mut command = Command::new(&found.compiler);
    command.arg("-std=c++20");
    if let Some(folder) = &found.folder {
        command.arg("-I").arg(folder);
    }
    command
}
