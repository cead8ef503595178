#!/usr/bin/env bash
# Explores all loom models of the engine, the channels, the scans and dataflow, without mutants. Arguments: --thorough for the wider bounds,
# and a part of the scripts' names to explore only those.
set -euo pipefail
cd "$(dirname "$0")/.."

while [ $# -gt 0 ]; do
    case $1 in
    --thorough) export MYRIAD_LOOM_THOROUGH=1 ;;
    *) export MYRIAD_LOOM_ONLY=$1 ;;
    esac
    shift
done
# A dependency of the library, under whatever condition, stands in the lock file of each program that uses it.
if grep -l '^name = "loom"$' Cargo.lock crates/rayon-core/Cargo.lock suites/Cargo.lock; then
    echo "loom.sh: the library depends on loom: only crates/models may" >&2
    exit 1
fi
export RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
export CARGO_TARGET_DIR=${MYRIAD_LOOM_TARGET:-${CARGO_TARGET_DIR:-target}/loom}
# programs ARGUMENT..: builds what cargo is asked for, and names the test programs.
programs() {
    cargo test --release --manifest-path crates/models/Cargo.toml "$@" --no-run --message-format=json-render-diagnostics |
        sed -n 's/.*"executable":"\([^"]*\)".*/\1/p'
}
# The engine's models are a module of its crate.
programs="$(programs -p myriad-core --lib) $(programs -p myriad-sync -p myriad-par -p myriad-flow --test loom)"

if [ "$(wc -w <<<"$programs")" -ne 4 ]; then
    echo "loom.sh: cargo does not name four test programs, but: $programs" >&2
    exit 1
fi

# one PROGRAM TEST: explores the models of a test, and prints all that it says at once.
one() {
    local said status=0
    said=$("$1" --exact "$2" --nocapture 2>&1) || status=1
    [ $status -eq 0 ] || echo "loom.sh: $2 failed"
    printf '%s\n' "$said" | grep -v '^running 1 test$\|^$'
    return $status
}
export -f one
# A model is explored by one thread: as many at a time as there are processors.
for program in $programs; do
    "$program" --list --format terse | sed -n "/mutants::/!s|^\(.*\): test\$|$program \1|p"
done | xargs -r -P "$(nproc)" -L 1 bash -c 'one "$@"' one
