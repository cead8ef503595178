#!/usr/bin/env bash
# Explores all loom models of the engine, the channels and the scans, without mutants. Arguments: --thorough for the wider bounds,
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
export RUSTFLAGS="${RUSTFLAGS:-} --cfg loom"
export CARGO_TARGET_DIR=${MYRIAD_LOOM_TARGET:-${CARGO_TARGET_DIR:-target}/loom}
exec cargo test --release -p myriad-core -p myriad-sync -p myriad-par --test loom -- --skip mutants:: --nocapture --test-threads=1
