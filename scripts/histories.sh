#!/usr/bin/env bash
# Checks histories of random programs on every object that waits, for MYRIAD_HISTORY_SECONDS (60 unless set), optimised, which
# makes several times as many. MYRIAD_HISTORY_ONLY chooses objects by a part of their names; crates/myriad/tests/histories/main.rs has
# the other variables. With the argument `faults` it plants faults in a copy of the sources instead, and expects each to be found.
set -euo pipefail
cd "$(dirname "$0")/.."

case "${1:-}" in
"")
    export MYRIAD_HISTORY_SECONDS=${MYRIAD_HISTORY_SECONDS:-60}
    exec cargo test --release -p myriad-rt --test histories -- --nocapture --test-threads=1
    ;;
faults)
    # (Not optimised: built sooner, and slower steps overlap more.)
    exec cargo test -p myriad-rt --test histories -- faults:: --ignored --nocapture
    ;;
*)
    echo "histories.sh: nothing, or 'faults', not '$1'" >&2
    exit 2
    ;;
esac
