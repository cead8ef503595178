#!/usr/bin/env bash
# The behaviour tests once more, on what a poorer machine would have: see docs/dev/FALLBACKS.md.
# Arguments go to cargo: `scripts/fallbacks.sh --test tasks spawn::`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. scripts/files.sh

failed=0
with() {
    local switch=$1
    shift
    echo "with $switch=1"
    env "$switch=1" cargo test -q "${built[@]}" "$@" || failed=1
}

if [ $# -gt 0 ]; then
    with MYRIAD_NO_MEMBARRIER "$@"
    with MYRIAD_NO_GUARD_INSTALL "$@"
else
    # Fences stand between workers, in locks, in channels, and in scans.
    with MYRIAD_NO_MEMBARRIER --test tasks --test runtime --test blocking_modes --test channels --test select --test locks --test cancel
    with MYRIAD_NO_MEMBARRIER --test par par_scan::
    # Guards stand below stacks.
    with MYRIAD_NO_GUARD_INSTALL --test tasks --test blocking_modes --test cancel
fi
exit $failed
