#!/usr/bin/env bash
# Plants faults one by one, and expects behaviour tests to fail. These are steps that no loom model reaches, because models have no
# workers, no clock, and few waiters. At the door of user code: what a worker's role says after user code has run, who runs that
# code, where a panic of it stops, whether a frame that was left is forgotten. At locks: what the end of a time limit decides. An
# argument, a part of a fault's name, restricts the run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

only=${1:-}
# The fault, the test program, and the part of the names of the tests that have to fail: by an assertion, a signal, or a hang.
faults=(
    "frame-left foreign_code destructors::results_of_a_scope"
    "stale-role foreign_code waking::a_waker_whose_destructor_waits"
    "on-top-role-kept scheduling stuck_workers::a_joiner_below"
    "future-runs-on foreign_code waking::a_waker_that_outlives_its_task"
    "as-nobody foreign_code waking::limits_in_wakers"
    "panics-pass foreign_code waking::a_token_whose_wakers_panic"
    "no-last-try locks lock_time_limits::a_mutex_that_is_free"
    "reached-forgotten locks lock_limits_async::given_while_they_are_woken"
)

export RUSTFLAGS="${RUSTFLAGS:-} --cfg myriad_faults"
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/faults
# A fault that makes a test hang is caught as well: by its watchdog.
export MYRIAD_TEST_PATIENCE=20 RUST_BACKTRACE=0
built=$(cargo test -p myriad-rt --test foreign_code --test locks --test scheduling --no-run 2>&1) || {
    echo "$built" >&2
    exit 1
}

wrong=0
for line in "${faults[@]}"; do
    read -r fault program tests <<<"$line"
    [[ $fault == *"$only"* ]] || continue
    binary=$(sed -n "s,^ *Executable tests/$program/.*(\(.*\))\$,\1,p" <<<"$built")
    start=$SECONDS
    if ! log=$(timeout 120 "$binary" "$tests" -q 2>&1 </dev/null); then
        echo "$tests fails without a fault:" >&2
        tail -n 30 <<<"$log" >&2
        exit 1
    fi
    [[ $log == *" 0 passed"* ]] && { echo "faults.sh: there is no test '$tests'" >&2; exit 1; }
    verdict=SURVIVED
    # A race may spare one run.
    for _ in {1..10}; do
        # (In a shell of its own, which says nothing of a signal.)
        if ! (MYRIAD_FAULT=$fault timeout 120 "$binary" "$tests" -q </dev/null) >/dev/null 2>&1; then
            verdict=caught
            break
        fi
    done
    printf '%-18s %-50s %-8s %3d s\n' "$fault" "$tests" "$verdict" $((SECONDS - start))
    [ "$verdict" = caught ] || wrong=1
done
exit $wrong
