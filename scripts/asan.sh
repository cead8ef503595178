#!/usr/bin/env bash
# Runs the behaviour tests under AddressSanitizer, to which `--cfg myriad_asan` announces the switches between fibers: first
# tests/asan, which plants errors in fibers that have to be found, then those of three programs, chosen at random, in a random order,
# for MYRIAD_ASAN_SECONDS (120 unless set; the build is not counted). With names as arguments: those, whole, instead.
#   scripts/asan.sh [spawn cancel_waits ..]
# A name is that of a file below crates/myriad/tests: a test binary, or a module of one. Without a nightly toolchain or its
# sanitizer the script says so, and ends with 77: not tried.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

seconds=${MYRIAD_ASAN_SECONDS:-120}
case "$seconds" in
'' | *[!0-9]*)
    echo "asan.sh: MYRIAD_ASAN_SECONDS is a number, not '$seconds'" >&2
    exit 2
    ;;
esac

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
host=$(rustc -vV | sed -n 's/^host: //p')
echo 'fn main() {}' >"$folder/empty.rs"
if ! { rustc +nightly -Zsanitizer=address --target "$host" -o "$folder/empty" "$folder/empty.rs" && "$folder/empty"; } >/dev/null 2>&1; then
    echo "asan.sh: SKIPPED: no nightly toolchain with AddressSanitizer is here, so nobody looked at fibers with it" >&2
    exit 77
fi
echo "AddressSanitizer of $(rustc +nightly --version)"

# What is not run: tests that break the contract of fiber mode on purpose; that measure or limit memory, stacks, mappings
# or threads, of which the sanitizer takes more; or that take minutes under it.
not='soundness|lazy|moved|panicking|scoped|limits|fallbacks|lifecycle|thread_count|stack_room|stuck_.*|par_sort.*|pains_stacks|policies|channel_model|stress_.*'
# What leaks on purpose, by a function of each: tests that forget something, or make a cycle; the payload of a panic in the destructor
# of a payload; what belongs to a runtime that was left with a blocked task; the list of a pool of stacks on which closures stay blocked.
cat >"$folder/leaks" <<'SUPPRESSIONS'
leak:forgotten
leak:free_tasks_among_those_of_the_scope
leak:a_guard_goes_to_another_thread
leak:who_comes_meanwhile_is_not_among_all
leak:a_setting_does_not_let_go_who_comes_after_the_reset
leak:it_may_set_itself_and_block
leak:a_leaving_writer_holds_nothing
leak:a_lock_that_is_read
leak:a_shutdown_waits_for_user_code_that_is_no_task
leak:what_belongs_to_a_runtime_outlives_it
leak:unwind::discard
leak:StackPool>::make
SUPPRESSIONS

# Pairs of a binary and a module, or a binary and a dash.
parts() {
    local file name
    for file in crates/myriad/tests/*.rs crates/myriad/tests/*/*.rs; do
        [ -e "$file" ] || continue
        name=${file#crates/myriad/tests/} name=${name%.rs}
        case "$name" in
        # (Those have scripts of their own.)
        */main | asan/* | hostile/* | histories/*) ;;
        */*) [ -e "crates/myriad/tests/${name%%/*}/main.rs" ] && echo "${name%%/*} ${name##*/}" ;;
        *) echo "$name -" ;;
        esac
    done
}
# The file that a part is: the last word that is no dash.
wanted=$(parts | while read -r binary module; do
    name=$module
    [ "$module" = - ] && name=$binary
    if [ $# -gt 0 ]; then
        [[ " $* " == *" $name "* ]] && echo "$binary $module"
    elif ! [[ $name =~ ^($not)$ ]]; then
        echo "$binary $module"
    fi
done | shuf)
if [ -z "$wanted" ]; then
    echo "asan.sh: there are no such tests" >&2
    exit 1
fi

binaries=$(cut -d' ' -f1 <<<"$wanted" | sort -u)
if [ $# -eq 0 ]; then
    # Three programs at random: to build them all takes longer than to run them.
    binaries=$(shuf -n 3 <<<"$binaries")
    wanted=$(awk 'NR == FNR { chosen[$1]; next } $1 in chosen' <(echo "$binaries") <(echo "$wanted"))
    echo "programs: ${binaries//$'\n'/ }"
fi
# shellcheck disable=SC2001 # each line
binaries=$(sed 's/^/--test /' <<<"$binaries")
# shellcheck disable=SC2086 # two words a line
built=$(RUSTFLAGS="-Zsanitizer=address --cfg myriad_asan" cargo +nightly test -p myriad-rt --features jobs,futures-io,http2 --target "$host" \
    --target-dir "${CARGO_TARGET_DIR:-target}/asan" --test asan $binaries --no-run 2>&1) || {
    echo "$built" >&2
    exit 1
}
# Lines like "  Executable tests/tasks/main.rs (target/asan/..)": the name, the binary.
list=$(sed -nE 's,^ *Executable tests/([a-z_]+)(/main)?\.rs \((.*)\)$,\1 \3,p' <<<"$built")

# Slower than otherwise, several times. Tests set their own `ASAN_OPTIONS` where they start processes.
export MYRIAD_TEST_PATIENCE=${MYRIAD_TEST_PATIENCE:-120}
export LSAN_OPTIONS="suppressions=$folder/leaks:print_suppressions=0"

# Runs one part, which has to end well, and without a word of the sanitizer: what it is not sure of, it only warns of.
check() {
    local binary=$1 module=$2 path log
    path=$(awk -v name="$binary" '$1 == name { print $2 }' <<<"$list")
    log=$folder/log
    local filter=()
    [ "$module" = - ] || filter=("$module::")
    if [ -z "$path" ] ||
        ! (cd crates/myriad && ASAN_OPTIONS=detect_leaks=1 timeout 600 "$path" -q "${filter[@]}") >"$log" 2>&1 </dev/null ||
        grep -qE 'AddressSanitizer|LeakSanitizer|WARNING: ASan' "$log"; then
        echo "asan.sh: $binary $module failed:" >&2
        tail -n 100 "$log" >&2
        exit 1
    fi
}

case "$(awk '$1 == "asan" { print $2 }' <<<"$list")" in /*) ;; *) list=${list// / $PWD/} ;; esac
check asan -
echo "planted errors are found"
end=$((SECONDS + seconds))
run=0 left=()
while read -r binary module; do
    if [ $# -eq 0 ] && [ "$SECONDS" -ge "$end" ]; then
        left+=("${module/#-/$binary}")
        continue
    fi
    check "$binary" "$module"
    run=$((run + 1))
done <<<"$wanted"
echo "$run files of tests, without a report"
[ ${#left[@]} -eq 0 ] || echo "not run, for want of time: ${left[*]}"
