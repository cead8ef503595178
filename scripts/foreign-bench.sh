#!/usr/bin/env bash
# FFTW and OpenBLAS on our workers, each by turns with the same library on its own threads; results are checked. The last
# column is the ratio of the times, less is better for us. Arguments go to both: fibers, rounds=9, n=2048, small=512, tasks=8.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ -z "${MYRIAD_OPENBLAS:-}" ]; then
    MYRIAD_OPENBLAS=$(scripts/install-openblas.sh) || MYRIAD_OPENBLAS=
    export MYRIAD_OPENBLAS
fi
cargo build --quiet --release -p myriad-foreign --examples
status=0
for example in fftw dgemm; do
    "${CARGO_TARGET_DIR:-target}/release/examples/$example" "$@" || status=$?
done
exit "$status"
