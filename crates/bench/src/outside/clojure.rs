//! core.async: Java, and the jars of Clojure and of core.async with what that needs.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::built::{built, does_not_compile};
use super::{Program, in_path};
use crate::record::Failure;

/// Its name among the systems.
pub(crate) const NAME: &str = "core.async";

/// Where Debian has jars.
const JARS: &str = "/usr/share/java";
/// Clojure, core.async, and what these need, by their names there.
const NEEDED: [&str; 8] = [
    "clojure",
    "core.async",
    "tools.analyzer.jvm",
    "tools.analyzer",
    "core.memoize",
    "core.cache",
    "data.priority-map",
    "asm",
];
/// A list of jars of one's own.
const CLASSPATH: &str = "CORE_ASYNC_CLASSPATH";

/// What was found.
#[derive(Debug, Hash)]
pub(crate) struct Found {
    java: PathBuf,
    /// The jars, and behind the names of links the versions.
    jars: Vec<PathBuf>,
}

/// Looks for Java and for the jars.
pub(crate) fn find() -> Result<Found, Failure> {
    let java = in_path("java").ok_or_else(|| Failure::Cannot("there is no Java: install a JRE".into()))?;
    let jars = match env::var_os(CLASSPATH) {
        Some(list) => env::split_paths(&list).collect(),
        None => NEEDED.map(|name| Path::new(JARS).join(format!("{name}.jar"))).to_vec(),
    };
    let jars: Result<Vec<_>, _> = jars.iter().map(|jar: &PathBuf| fs::canonicalize(jar).map_err(|_| jar)).collect();
    match jars {
        Ok(jars) => Ok(Found { java, jars }),
        Err(jar) => Err(Failure::Cannot(format!(
            "{} is not there: install core.async (Debian: libcore-async-clojure), or list its jars in {CLASSPATH}",
            jar.display()
        ))),
    }
}

/// Starts the program of this source, whose namespace is `name`. It is compiled first, with the
/// libraries, if it has not been: that takes ten times as long as to start it.
pub(crate) fn start(name: &str, source: &str, workers: usize, arguments: &[&str]) -> Result<Program, Failure> {
    let found = find()?;
    let classes = built(&format!("{NAME}-{name}"), (&found, source), |path| build(&found, name, source, path))?;
    let mut command = Command::new(&found.java);
    command.arg("-cp").arg(class_path(&found, &classes)?);
    command.arg(format!("-Dclojure.core.async.pool-size={workers}")).arg(name).args(arguments);
    Program::start(NAME, command)
}

fn build(found: &Found, name: &str, source: &str, path: &Path) -> Result<(), Failure> {
    let unusable = |e| Failure::Cannot(format!("{}: {e}", path.display()));
    fs::create_dir_all(path).map_err(unusable)?;
    fs::write(path.join(format!("{name}.clj")), source).map_err(unusable)?;
    let mut command = Command::new(&found.java);
    command.arg("-cp").arg(class_path(found, path)?).current_dir(path).arg("-Dclojure.compile.path=.");
    command.args(["clojure.main", "-e", &format!("(compile '{name})")]).stdin(Stdio::null());
    let out = command.output().map_err(|e| Failure::Wrong(format!("Java is lost: {e}")))?;
    if out.status.success() { Ok(()) } else { Err(does_not_compile(NAME, &out.stderr)) }
}

/// The jars, behind the folder of the program.
fn class_path(found: &Found, classes: &Path) -> Result<OsString, Failure> {
    let all = [classes].into_iter().chain(found.jars.iter().map(PathBuf::as_path));
    env::join_paths(all).map_err(|e| Failure::Cannot(format!("a path of core.async: {e}")))
}
