#!/usr/bin/env bash
# All that other crates have to pass, for crates/rayon-core, which is a workspace of its own (see docs/dev/DECISIONS.md): formatting, lints,
# documentation, tests, and its example, which hangs with rayon on itself.
set -uo pipefail
cd "$(dirname "$0")/../crates/rayon-core" || exit 1
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target}/rayon-core

failed=0
step() {
    echo "rayon-core: $*"
    "$@" || {
        echo "rayon-test.sh: failed: $*" >&2
        failed=1
    }
}
# (Not --all: that would be the crates beside it too.)
step cargo fmt -p rayon-core -p rayon-programs -- --check
step cargo clippy -q --workspace --all-targets -- -D warnings
RUSTDOCFLAGS="-D warnings" step cargo doc -q -p rayon-core --no-deps
# One build for both modes of the global pool: see `are_fibers_asked_for` in global.rs. (Without this cfg, as it is published, the programs
# run under rayon-asan.sh.)
export RUSTFLAGS="${RUSTFLAGS:-} --cfg rayon_on_fibers"
unset RAYON_ON_FIBERS
step cargo test -q --workspace --no-fail-fast
# Once more with the global pool in fiber mode. (Runtimes of their own the tests have in both modes.)
RAYON_ON_FIBERS=1 step cargo test -q --workspace --no-fail-fast \
    --lib --test pools --test user_code --test threads_of_pools --test offers --test global

for file in programs/examples/*.rs; do
    expected=$(sed -n '1s,^//! Prints: ,,p' "$file")
    printed=$(timeout 120 cargo run -q -p rayon-programs --example "$(basename "$file" .rs)" | tail -n 1)
    if [ "$printed" != "$expected" ]; then
        echo "rayon-test.sh: $file printed '$printed', not '$expected'" >&2
        failed=1
    fi
done
exit "$failed"
