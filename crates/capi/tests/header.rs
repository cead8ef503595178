//! `include/myriad.h` is what cbindgen makes of the sources. After a change of the interface write
//! it anew: `MYRIAD_WRITE_HEADER=1 cargo test -p myriad-capi header`.

use std::path::Path;

/// The order of the header.
const SOURCES: [&str; 10] =
    ["error", "runtime", "task", "cancel", "parallel", "channel", "select", "mutex", "gang", "foreign"];

const BEGIN: &str = "\
// The C interface of Myriad: tasks that wait without holding up a thread, parallel loops, channels,
// locks.
//
// myriad_start first, myriad_stop at the end; everything else from tasks (myriad_run, myriad_spawn)
// and from any other thread. Functions return a myriad_status, MYRIAD_OK or what was wrong;
// myriad_last_error has the text. All may be called from several threads at a time. The guide:
// docs/C.md.
//
// Written from the sources, crates/capi/src/*.rs, by crates/capi/tests/header.rs. Do not edit.
";

fn generate() -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut config = cbindgen::Config::from_file(root.join("cbindgen.toml")).unwrap();
    config.header = Some(BEGIN.trim_end().into());
    let mut builder = cbindgen::Builder::new().with_config(config);
    for source in SOURCES {
        builder = builder.with_src(root.join(format!("src/{source}.rs")));
    }
    let mut text = Vec::new();
    builder.generate().unwrap().write(&mut text);
    String::from_utf8(text).unwrap()
}

#[test]
fn the_header_is_what_the_sources_say() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("include/myriad.h");
    let text = generate();
    if std::env::var_os("MYRIAD_WRITE_HEADER").is_some() {
        std::fs::write(&file, &text).unwrap();
    }
    let there = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = there.lines().zip(text.lines()).position(|(there, new)| there != new);
    let line = differs.unwrap_or(there.lines().count().min(text.lines().count())) + 1;
    assert!(
        there == text,
        "include/myriad.h is stale from line {line} on; write it anew: \
         MYRIAD_WRITE_HEADER=1 cargo test -p myriad-capi header"
    );
}

/// No function of the interface is left out: a source file that is not in the list, or something
/// that cbindgen does not understand.
#[test]
fn every_exported_function_is_in_the_header() {
    let header = generate();
    for name in
        ["MYRIAD_FIBERS = 1", "#define MYRIAD_UNBOUNDED SIZE_MAX", "(*myriad_function)", "typedef struct myriad_task"]
    {
        assert!(header.contains(name), "{name}");
    }
    let mut exported = 0;
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let source = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for part in source.split("#[unsafe(no_mangle)]").skip(1) {
            let name = part.split("fn ").nth(1).and_then(|rest| rest.split('(').next()).unwrap();
            assert!(header.contains(&format!(" {name}(")) || header.contains(&format!("*{name}(")), "{name}");
            exported += 1;
        }
    }
    assert!(exported > 30, "{exported}");
}
