#!/usr/bin/env bash
# The behaviour tests once more, on what a poorer machine would have: see docs/PLATFORM.md.
# Arguments go to cargo: `scripts/fallbacks.sh --test tasks spawn::`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

if [ $# -eq 0 ]; then
    set -- --tests
fi
failed=0
for switch in MYRIAD_NO_MEMBARRIER MYRIAD_NO_GUARD_INSTALL; do
    echo "with $switch=1"
    env "$switch=1" cargo test -q -p myriad-rt "$@" || failed=1
done
exit $failed
