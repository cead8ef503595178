#!/usr/bin/env bash
# Runs the behaviour tests again and again, for MYRIAD_STRESS_SECONDS (60 unless set), several of them at a time on few
# cores, so that threads are interrupted where they are not in an ordinary run. The first failure ends it.
# Tests whose file is called stress_*.rs read MYRIAD_STRESS_SECONDS themselves, and share half of the time.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

seconds=${MYRIAD_STRESS_SECONDS:-60}
case "$seconds" in
'' | *[!0-9]*)
    echo "stress.sh: MYRIAD_STRESS_SECONDS is a number, not '$seconds'" >&2
    exit 2
    ;;
esac

# Lines like "  Executable tests/tasks/main.rs (target/debug/deps/tasks-3f04)": the topic, the program.
. scripts/files.sh
list=$(cargo test "${built[@]}" --tests --no-run 2>&1) || {
    echo "$list" >&2
    exit 1
}
# Each file, its program, and what chooses its tests there.
files=$(sed -n 's,^ *Executable tests/\([a-z_]*\)/main\.rs (\(.*\))$,\1 \2,p' <<<"$list" | while read -r topic program; do
    # (These have scripts of their own.)
    [ "$topic" = hostile ] || [ "$topic" = histories ] && continue
    for file in "crates/myriad/tests/$topic"/*.rs; do
        file=$(basename "$file" .rs)
        [ "$file" = main ] && continue
        choose "$file" && echo "$file $program ${filters[*]}"
    done
done)
own=$(grep '^stress_' <<<"$files")
# Not those that take long by themselves, or want the machine for themselves, or measure times.
others=$(grep -Ev '^(stress_.*|pains_stacks|pains_sharing|thread_count|limits|bad_input|lifecycle|fallbacks|timers) ' <<<"$files")
if [ -z "$others" ]; then
    echo "stress.sh: cargo names no test programs" >&2
    exit 1
fi

if [ -n "$own" ]; then
    share=$((seconds / 2 / $(wc -l <<<"$own") + 1))
    while read -r name program filters; do
        echo "$name, $share s"
        # The filters are words.
        # shellcheck disable=SC2086
        if ! MYRIAD_STRESS_SECONDS=$share timeout $((share + 120)) "$program" -q $filters; then
            echo "stress.sh: $name failed" >&2
            exit 1
        fi
    done <<<"$own"
    seconds=$((seconds - seconds / 2))
fi

end=$((SECONDS + seconds))
runs=0
at_a_time=$((2 * $(nproc)))
pids=() names=() logs=()

# Waits for all that run; ends the script if one has failed.
settle() {
    local i failed=0
    for i in "${!pids[@]}"; do
        if ! wait "${pids[$i]}"; then
            echo "stress.sh: ${names[$i]} failed:" >&2
            tail -n 60 "${logs[$i]}" >&2
            failed=1
        fi
        rm -f "${logs[$i]}"
        runs=$((runs + 1))
    done
    pids=() names=() logs=()
    if [ "$failed" -ne 0 ]; then
        exit 1
    fi
}

while [ "$SECONDS" -lt "$end" ]; do
    while read -r name program filters; do
        [ "$SECONDS" -lt "$end" ] || break
        log=$(mktemp)
        # Tests have watchdogs of their own; this limit is for a program that hangs at its end.
        # shellcheck disable=SC2086
        timeout 300 "$program" -q $filters >"$log" 2>&1 </dev/null &
        pids+=($!) names+=("$name") logs+=("$log")
        [ ${#pids[@]} -lt "$at_a_time" ] || settle
    done < <(shuf <<<"$others")
done
settle
echo "$runs runs of test files, $at_a_time at a time, without a failure"
