#!/usr/bin/env bash
# A program that is compiled with panic = "abort", all of it: what works there, and what becomes of cancellations and panics.
# crates/myriad/tests/panic_abort/program.rs says what is expected.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${CARGO_TARGET_DIR:-target}/panic-abort
CARGO_PROFILE_DEV_PANIC=abort cargo build --quiet -p myriad-rt --target-dir "$folder"
rustc --edition 2024 -C panic=abort --extern myriad="$folder/debug/libmyriad.rlib" -L dependency="$folder/debug/deps" \
    crates/myriad/tests/panic_abort/program.rs -o "$folder/program"

# outcome MODE WHAT: the exit status, and all that was said.
outcome() {
    local status=0
    RUST_BACKTRACE=0 timeout 60 "$folder/program" "$1" "$2" >"$folder/output" 2>&1 || status=$?
    echo "$status $(tr '\n' ' ' <"$folder/output")"
}

# expect MODE WHAT PATTERN
expect() {
    local got
    got=$(outcome "$1" "$2")
    # shellcheck disable=SC2053 # it is a pattern
    if [[ "$got" != $3 ]]; then
        echo "panic-abort.sh: $1, $2: $got; expected $3" >&2
        exit 1
    fi
}

for mode in threads fibers; do
    expect "$mode" well '0 all is well '
    # A wait goes on that a cancellation would have ended: that is said, once.
    expect "$mode" cancel '0 myriad: a task was cancelled at a blocking point, and goes on*This is said once.) all is well '
    # 134: aborted. The message is the panic's, and the joiner is told nothing.
    expect "$mode" panic '134 *of a task, on purpose*'
    expect "$mode" 'panic in a loop' '134 *of a body, on purpose*'
done
echo 'panic = "abort": tasks, channels, locks and loops work; cancelled tasks are asked; a panic ends the process'
