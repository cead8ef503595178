//! Clojure and core.async: Java, and jars.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::built::{built, does_not_compile};
use super::{Program, in_path};
use crate::record::Failure;

/// What there is to know about a library.
#[derive(Debug)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    /// Its jars and what these need, by their names at Debian.
    needed: &'static [&'static str],
    /// A list of jars of one's own.
    classpath: &'static str,
    /// How one gets it.
    get: &'static str,
}

/// Clojure alone, for its agents.
pub(crate) static CLOJURE: Library = Library {
    name: "clojure",
    needed: &["clojure"],
    classpath: "CLOJURE_CLASSPATH",
    get: "install Clojure (Debian: clojure)",
};

/// core.async.
pub(crate) static CORE_ASYNC: Library = Library {
    name: "core.async",
    needed: &[
        "clojure",
        "core.async",
        "tools.analyzer.jvm",
        "tools.analyzer",
        "core.memoize",
        "core.cache",
        "data.priority-map",
        "asm",
    ],
    classpath: "CORE_ASYNC_CLASSPATH",
    get: "install core.async (Debian: libcore-async-clojure)",
};

/// Where Debian has jars.
const JARS: &str = "/usr/share/java";

/// What was found.
#[derive(Debug, Hash)]
pub(crate) struct Found {
    java: PathBuf,
    /// The jars, and behind the names of links the versions.
    jars: Vec<PathBuf>,
}

/// Looks for Java and for the jars.
pub(crate) fn find(library: &Library) -> Result<Found, Failure> {
    let java = in_path("java").ok_or_else(|| Failure::Cannot("there is no Java: install a JRE".into()))?;
    let jars: Vec<_> = match env::var_os(library.classpath) {
        Some(list) => env::split_paths(&list).collect(),
        None => library.needed.iter().map(|name| Path::new(JARS).join(format!("{name}.jar"))).collect(),
    };
    let jars: Result<Vec<_>, _> = jars.iter().map(|jar: &PathBuf| fs::canonicalize(jar).map_err(|_| jar)).collect();
    match jars {
        Ok(jars) => Ok(Found { java, jars }),
        Err(jar) => Err(Failure::Cannot(format!(
            "{} is not there: {}, or list its jars in {}",
            jar.display(),
            library.get,
            library.classpath
        ))),
    }
}

/// Starts the program of this source, whose namespace is `name`. It is compiled first, with the
/// libraries, if it has not been: that takes ten times as long as to start it.
pub(crate) fn start(
    library: &'static Library,
    name: &str,
    source: &str,
    workers: usize,
    arguments: &[&str],
) -> Result<Program, Failure> {
    let found = find(library)?;
    let classes = built(&format!("{}-{name}", library.name), (&found, source), |path| {
        build(library, &found, name, source, path)
    })?;
    let mut command = Command::new(&found.java);
    command.arg("-cp").arg(class_path(library, &found, &classes)?);
    command.arg(format!("-Dclojure.core.async.pool-size={workers}")).arg(name).args(arguments);
    Program::start(library.name, command)
}

fn build(library: &Library, found: &Found, name: &str, source: &str, path: &Path) -> Result<(), Failure> {
    let unusable = |e| Failure::Cannot(format!("{}: {e}", path.display()));
    fs::create_dir_all(path).map_err(unusable)?;
    fs::write(path.join(format!("{name}.clj")), source).map_err(unusable)?;
    let mut command = Command::new(&found.java);
    command.arg("-cp").arg(class_path(library, found, path)?).current_dir(path).arg("-Dclojure.compile.path=.");
    command.args(["clojure.main", "-e", &format!("(compile '{name})")]).stdin(Stdio::null());
    let out = command.output().map_err(|e| Failure::Wrong(format!("Java is lost: {e}")))?;
    if out.status.success() { Ok(()) } else { Err(does_not_compile(library.name, &out.stderr)) }
}

/// The jars, behind the folder of the program.
fn class_path(library: &Library, found: &Found, classes: &Path) -> Result<OsString, Failure> {
    let all = [classes].into_iter().chain(found.jars.iter().map(PathBuf::as_path));
    env::join_paths(all).map_err(|e| Failure::Cannot(format!("a path of {}: {e}", library.name)))
}
