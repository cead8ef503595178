#!/usr/bin/env bash
# Plants each mutant in the engine's, the channels' and the scans' code and expects a loom model to fail. An argument, a part of the
# scripts' names, restricts it.
set -euo pipefail
cd "$(dirname "$0")/.."

[ $# -eq 0 ] || export MYRIAD_LOOM_ONLY=$1
export RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
export CARGO_TARGET_DIR=${MYRIAD_LOOM_TARGET:-${CARGO_TARGET_DIR:-target}/loom}
exec cargo test --release -p myriad-core -p myriad-sync -p myriad-par --test loom -- mutants:: --include-ignored --nocapture --test-threads=1
