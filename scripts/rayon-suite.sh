#!/usr/bin/env bash
# The tests of rayon and of rayon-core, unmodified, against crates/rayon-core: unit, integration and documentation tests, from the
# published sources. Prints how many passed, and each test that did not, with the reason from crates/rayon-core/suite/not-passed.txt;
# fails if one did not that is not there, if one is there that did, or if that list has become longer.
#   scripts/rayon-suite.sh [threads|fibers]     the mode of the global pool; in fiber mode without the documentation tests
#   MYRIAD_SUITES_WRITE=1                       writes the mode's column of the table in docs/dev/RAYON-INSIDE.md, if all is as it should be
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
mode=${1:-threads}

rayon=1.12.0
core=1.13.0
# The two packages have so many tests in all: see docs/dev/RAYON-INSIDE.md.
total=718
# So many of them may be on the list. This number only shrinks.
may_list=5
suite=$PWD/crates/rayon-core/suite
document=$PWD/docs/dev/RAYON-INSIDE.md
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/rayon-suite")
# One build for both modes; see `are_fibers_asked_for` in crates/rayon-core/src/global.rs.
export RUSTFLAGS="${RUSTFLAGS:-} --cfg rayon_on_fibers"
unset RAYON_ON_FIBERS
case "$mode" in
threads) ;;
fibers)
    export RAYON_ON_FIBERS=1
    # 273 are in the documentation.
    total=$((total - 273))
    ;;
*)
    echo "rayon-suite.sh: '$mode' is no mode; there are: threads fibers" >&2
    exit 2
    ;;
esac
work=$target/work
# Seconds after which a group of tests hangs.
limit=${MYRIAD_RAYON_SUITE_SECONDS:-900}
mkdir -p "$work/fetch/src"

# The sources, by way of cargo.
cat >"$work/fetch/Cargo.toml" <<END
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
rayon = "=$rayon"
rayon-core = "=$core"
[workspace]
END
: >"$work/fetch/src/lib.rs"
cargo fetch -q --manifest-path "$work/fetch/Cargo.toml" || exit 1
source_of() {
    cargo metadata -q --format-version 1 --manifest-path "$work/fetch/Cargo.toml" |
        grep -o "\"manifest_path\":\"[^\"]*/$1/Cargo.toml\"" | head -n 1 | cut -d'"' -f4 | xargs -r dirname
}
rayon_source=$(source_of "rayon-$rayon")
core_source=$(source_of "rayon-core-$core")
if [ -z "$rayon_source" ] || [ -z "$core_source" ]; then
    echo "rayon-suite.sh: cargo did not say where the sources of rayon are" >&2
    exit 1
fi

# Copies with the time of the original, so that cargo compiles once.
mkdir -p "$work/core/src" "$work/core/tests"
cp -rpu "$rayon_source/." "$work/rayon"
cp -pu "$core_source"/tests/*.rs "$work/core/tests/"
cp -rpu "$core_source/src/compile_fail" "$work/core/src/"
cp -pu "$suite/lib.rs" "$work/core/src/lib.rs"
cp -pu "$core_source/src/test.rs" "$work/core/src/test.rs"
for part in broadcast join scope spawn; do
    mkdir -p "$work/core/src/$part"
    cp -pu "$core_source/src/$part/test.rs" "$work/core/src/$part/"
done

# Replaces a file if what comes is something else.
replace() {
    cat >"$1.new"
    if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

# Without the two tests that read a private field.
mkdir -p "$work/core/src/thread_pool"
awk '
    skip { if ($0 == "}") skip = 0; next }
    /^fn (workers_stop|sleeper_stop)\(/ { held = ""; skip = 1; next }
    /^#\[/ { held = held $0 "\n"; next }
    { printf "%s%s\n", held, $0; held = "" }
' "$core_source/src/thread_pool/test.rs" | replace "$work/core/src/thread_pool/test.rs"

# The examples of the documentation.
find "$core_source/src" -name '*.rs' ! -name test.rs ! -path '*compile_fail*' -print0 | sort -z | xargs -0 awk '
    function flush() {
        if (text ~ /```/) printf "%spub mod example_%d {}\n", text, ++n
        text = ""
    }
    FNR == 1 { flush() }
    match($0, /^[ \t]*\/\/[\/!]/) { text = text "///" substr($0, RLENGTH + 1) "\n"; next }
    { flush() }
    END { flush() }
' | replace "$work/core/src/examples.rs"

replace "$work/core/Cargo.toml" <<END
[package]
name = "core-suite"
version = "0.0.0"
edition = "2021"
[dependencies]
rayon-core = "=$core"
[dev-dependencies]
rand = "0.9"
rand_xorshift = "0.4"
scoped-tls = "1.0"
crossbeam-utils = "0.8"
libc = "0.2"
END
replace "$work/Cargo.toml" <<END
[workspace]
resolver = "2"
members = ["rayon", "core"]
[patch.crates-io]
rayon-core = { path = "$PWD/crates/rayon-core" }
[profile.dev]
debug = 0
incremental = false
END

# The examples are compiled as of edition 2024, in which rustdoc makes one program of them all, not one of each: those of rayon-core take
# 1 second of a processor then, not 6. (They say the same; those that are not to compile are still alone.)
replace "$work/rustdoc" <<'END'
#!/usr/bin/env bash
exec rustdoc "${@/#--edition=2021/--edition=2024}"
END
chmod +x "$work/rustdoc"
export RUSTDOC=$work/rustdoc

cd "$work" || exit 1
export CARGO_TARGET_DIR=$target
# Some of the tests bring a pool of threads along, and compute for long: no more at a time than there are processors.
threads=$(nproc)
: >"$work/passed"
: >"$work/others"
: >"$work/counts"
passed=0 failed=0

# group NAME ARGUMENTS..: one run of cargo test; its results by name.
group() {
    local name=$1 log=$work/$1.log status start=$SECONDS
    shift
    timeout --kill-after=10 "$limit" cargo test -q "$@" --no-fail-fast -- --test-threads="$threads" --format=pretty \
        </dev/null >"$log" 2>&1
    status=$?
    sed -n 's/^test \(.*\) \.\.\. ok$/\1/p' "$log" | sed 's/ - compile fail$//; s/ - should panic$//' >"$log.passed"
    sed -n 's/^test \(.*\) \.\.\. \(FAILED\|ignored\).*$/\1/p' "$log" | sed 's/ - should panic$//' |
        awk -v name="$name" '{ print name, $1 }' >>"$work/others"
    local count
    count=$(wc -l <"$log.passed")
    awk -v name="$name" '{ print name, $1 }' "$log.passed" >>"$work/passed"
    passed=$((passed + count))
    echo "$name: $count passed, $((SECONDS - start)) s"
    # What does not pass is on the list, or this run fails.
    echo "$name $count $((count + $(grep -c "^$name " "$suite/not-passed.txt")))" >>"$work/counts"
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        echo "$name: not done after $limit s" >&2
        failed=1
    elif ! grep -q '^test result' "$log"; then
        tail -n 40 "$log" >&2
        failed=1
    elif grep -q '^test result: FAILED\|process didn.t exit successfully' "$log"; then
        grep -A 12 '^---- ' "$log" >&2
    fi
}

group core-unit -p core-suite --lib
group core-integration -p core-suite --test '*'
[ "$mode" = fibers ] || group core-examples -p core-suite --doc
group rayon-unit -p rayon --lib
group rayon-integration -p rayon --test '*'
[ "$mode" = fibers ] || group rayon-examples -p rayon --doc

echo
listed=0
while read -r name test reason; do
    [[ $name == \#* || -z $name ]] && continue
    listed=$((listed + 1))
    echo "not passed: $name $test: $reason"
    if grep -qxF "$name $test" "$work/passed"; then
        echo "  but it has passed: take it off $suite/not-passed.txt" >&2
        failed=1
    fi
done <"$suite/not-passed.txt"
while read -r name test; do
    if ! grep -qF "$name $test  " "$suite/not-passed.txt"; then
        echo "FAILED: $name $test" >&2
        failed=1
    fi
done <"$work/others"
echo "rayon $rayon and rayon-core $core on Myriad, $mode: $passed of $total tests passed, $listed are on the list"
if [ "$listed" -gt "$may_list" ]; then
    echo "rayon-suite.sh: $listed tests are on the list, and $may_list may be" >&2
    failed=1
fi
if [ $((passed + listed)) -ne $total ]; then
    echo "rayon-suite.sh: that is not all: $((total - passed - listed)) are missing" >&2
    failed=1
fi
if [ "$failed" -eq 0 ] && [ -n "${MYRIAD_SUITES_WRITE:-}" ]; then
    # The other mode's column stays as it is; what this mode does not run has a dash.
    awk -F ' *[|] *' -v mode="$mode" '
        NR == FNR { split($0, words, " "); cell[words[1]] = words[2] " of " words[3]; next }
        /<!-- table -->/ { within = 1 }
        /<!-- \/table -->/ { within = 0 }
        within && /^[|] [a-z-]* [|] [0-9-]/ {
            now = ($2 in cell) ? cell[$2] : "-"
            print "| " $2 " | " (mode == "threads" ? now : $3) " | " (mode == "fibers" ? now : $4) " |"
            next
        }
        { print }
    ' "$work/counts" "$document" >"$work/document" && cp "$work/document" "$document"
fi
exit "$failed"
