#!/usr/bin/env bash
# A part of the behaviour tests under each policy other than the default: what schedules, blocks, wakes and ends tasks in as many ways
# as there are, under depth-first; the shortest of them under the other two. (`policies.rs` and `policies_beside.rs` choose their
# policies themselves.) Then, under each, storms of hostile foreign code (crates/myriad/tests/hostile) for 5 s, with a seed that is printed.
# Arguments go to cargo, in place of all that: `scripts/policies.sh --tests`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
. scripts/files.sh

few=(spawn scope join futures channel_messages cancel_waits groups pools)
more=("${few[@]}" inlining_rule panics panics_endings channel_close channel_timeouts select_basics select_waiting lock_mutex
    lock_semaphore lock_condvar cancel_locks cancel_policies timers shutdown task_local priorities dedicated)

failed=0
under() {
    local policy=$1
    shift
    echo "under $policy"
    MYRIAD_POLICY=$policy cargo test -q "${built[@]}" "$@" || failed=1
}

if [ $# -gt 0 ]; then
    for policy in depth-first shared-queue round-robin; do
        under "$policy" "$@"
    done
else
    choose "${more[@]}" || exit 1
    under depth-first "${programs[@]}" -- "${filters[@]}"
    choose "${few[@]}" || exit 1
    under shared-queue "${programs[@]}" -- "${filters[@]}"
    under round-robin "${programs[@]}" -- "${filters[@]}"
    for policy in depth-first shared-queue round-robin; do
        MYRIAD_HOSTILE_SECONDS=5 under "$policy" --test hostile -- storm --exact --nocapture
    done
fi
exit $failed
