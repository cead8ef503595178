#!/usr/bin/env bash
# Plants each mutant in the code of the engine, the channels, the scans and dataflow, and expects a loom model to fail. An argument,
# a part of the scripts' names, restricts it.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -eq 0 ] || export MYRIAD_LOOM_ONLY=$1
export RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
export CARGO_TARGET_DIR=${MYRIAD_LOOM_TARGET:-${CARGO_TARGET_DIR:-target}/loom}
status=0
# The engine's models are a module of its crate.
for programs in "-p myriad-core --lib" "-p myriad-sync -p myriad-par -p myriad-flow --test loom"; do
    # shellcheck disable=SC2086 # words
    cargo test --release --manifest-path crates/models/Cargo.toml $programs --no-fail-fast -- mutants:: --include-ignored --nocapture --test-threads=1 ||
        status=1
done
exit $status
