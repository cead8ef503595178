//! Where what is built is kept: a folder of the user's cache. A name there has a hash of all that
//! the file depends on, so a file is never old, and is built once.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use super::first_line;
use crate::record::Failure;

/// The file or folder that `build` makes at the path that it is given, if it is not there yet.
/// `of` is what it depends on.
pub(super) fn built(
    name: &str,
    of: impl Hash,
    build: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let folder = folder().ok_or_else(|| {
        Failure::Cannot("there is no place for the program of a peer: set XDG_CACHE_HOME or HOME".into())
    })?;
    built_in(&folder, name, of, build)
}

fn built_in(
    folder: &Path,
    name: &str,
    of: impl Hash,
    build: impl FnOnce(&Path) -> Result<(), Failure>,
) -> Result<PathBuf, Failure> {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    let path = folder.join(format!("{name}-{:016x}", hasher.finish()));
    if path.exists() {
        return Ok(path);
    }
    let unusable = |e: io::Error| Failure::Cannot(format!("{}: {e}", folder.display()));
    fs::create_dir_all(folder).map_err(unusable)?;
    // Of several processes one builds, and the others wait until its lock is closed.
    let lock = File::create(folder.join(format!("{name}.lock"))).map_err(unusable)?;
    lock.lock().map_err(unusable)?;
    if !path.exists() {
        // Under another name meanwhile: what broke off before is no program.
        let half = folder.join(format!("{name}.half"));
        _ = fs::remove_dir_all(&half).or_else(|_| fs::remove_file(&half));
        build(&half)?;
        fs::rename(&half, &path).map_err(unusable)?;
    }
    Ok(path)
}

fn folder() -> Option<PathBuf> {
    let of = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let cache = of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")))?;
    // (A relative one is to be ignored, says the convention.)
    cache.is_absolute().then(|| cache.join("myriad-bench"))
}

/// What a compiler says when it fails.
pub(super) fn does_not_compile(name: &str, said: &[u8]) -> Failure {
    let said = String::from_utf8_lossy(said);
    let error = said.lines().find(|line| line.contains("rror")).unwrap_or_else(|| first_line(&said));
    Failure::Wrong(format!("the program of {name} does not compile: {}", error.trim()))
}

#[cfg(test)]
mod test {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

    #[test]
    fn it_is_built_once_and_what_breaks_off_is_not_kept() {
        let folder = env::temp_dir().join(format!("myriad-bench-built-{}", std::process::id()));
        let builds = AtomicU32::new(0);
        let breaks_off = built_in(&folder, "x", 1, |path| {
            fs::write(path, "half").expect("it is a folder of ours");
            Err(does_not_compile("x", b"In file y:\ny:1: error: no such z\n"))
        });
        let failure = breaks_off.expect_err("it says so");
        assert_eq!(failure.to_string(), "the program of x does not compile: y:1: error: no such z");
        std::thread::scope(|s| {
            for _ in 0..4 {
                s.spawn(|| {
                    let path = built_in(&folder, "x", 1, |path| {
                        builds.fetch_add(1, Relaxed);
                        fs::write(path, "whole").expect("it is a folder of ours");
                        Ok(())
                    });
                    let path = path.expect("it is built");
                    assert_eq!(fs::read_to_string(path).expect("it is there"), "whole");
                });
            }
        });
        assert_eq!(builds.load(Relaxed), 1);
        let other = built_in(&folder, "x", 2, |path| fs::write(path, "other").map_err(|_| unreachable!()));
        assert!(other.is_ok_and(|path| fs::read_to_string(path).is_ok_and(|text| text == "other")));
        fs::remove_dir_all(folder).expect("it is there");
    }
}
