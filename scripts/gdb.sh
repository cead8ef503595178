#!/usr/bin/env bash
# Tests scripts/gdb/myriad.py: a release build with debug information, in both modes, live and as a core dump. Ends with 77 where
# there is no gdb.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v gdb >/dev/null; then
    echo "gdb.sh: SKIPPED: there is no gdb" >&2
    exit 77
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}/gdb")
unset CARGO_TARGET_DIR
commands=$PWD/scripts/gdb/myriad.py
mkdir -p "$target/src"
cp scripts/gdb/main.rs "$target/src/main.rs"
cat >"$target/Cargo.toml" <<TOML
[package]
name = "waiting"
version = "0.0.0"
edition = "2024"
[dependencies]
myriad = { path = "$PWD/crates/myriad", package = "myriad-rt" }
[profile.release]
debug = true
[workspace]
TOML
cargo build -q --release --manifest-path "$target/Cargo.toml" --target-dir "$target/target" >&2
program=$target/target/release/waiting
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

# in_gdb WHERE-IT-STANDS ARGUMENTS: what our commands say there.
in_gdb() {
    local where=$1
    shift
    timeout 120 gdb -q -nx -batch -ex 'set debuginfod enabled off' -ex 'set width 0' -ex "source $commands" "$@" \
        -ex 'echo [tasks]\n' -ex 'myriad tasks' -ex 'echo [workers]\n' -ex 'myriad workers' -ex 'echo [task 1]\n' -ex 'myriad bt 1' \
        -ex 'echo [future]\n' -ex 'myriad bt 3' -ex 'echo [own]\n' -ex 'myriad bt' >"$where.txt" 2>&1 || true
}

fail() {
    echo "gdb.sh: $1: expected $2; gdb said:" >&2
    cat "$1.txt" >&2
    exit 1
}

# check WHERE: all that has to be there.
check() {
    local where=$1
    # part NAME: what was said of this.
    part() { awk -v name="[$1]" '$0 == name { on = 1; next } /^\[(tasks|workers|task 1|future|own)\]$/ { on = 0 } on' "$where.txt"; }
    [ "$(part tasks | grep -c 'blocked: Recv  *spawned at src/main.rs:[0-9]*:[0-9]*$')" = 3 ] || fail "$where" "three tasks that wait for messages"
    [ "$(part tasks | grep -c 'a future  *spawned at src/main.rs:[0-9]*:[0-9]*$')" = 1 ] || fail "$where" "a future"
    [ "$(part tasks | grep -c 'a future, which has awaited: Recv  *spawned at src/main.rs:[0-9]*:[0-9]*$')" = 1 ] ||
        fail "$where" "a future that waits for a message"
    [ "$(part workers | grep -cE '^pool 0, worker [01]: thread [0-9]+, ')" = 2 ] || fail "$where" "two workers"
    # The functions of the program are in the stack in their order, with the argument of this task.
    [ "$(part 'task 1' | grep -oE 'waiting::(inner|outer)_function' | tr '\n' ' ')" = 'waiting::inner_function waiting::outer_function ' ] ||
        fail "$where" "the stack of a task"
    part 'task 1' | grep 'inner_function (rx=.*, n=1)' >/dev/null || fail "$where" "the stack of task 1 and of no other"
    grep -q 'this is no blocked closure' "$where.txt" || fail "$where" "that a future has no stack"
}

for mode in fibers threads; do
    in_gdb "$mode" -ex 'break ready_for_gdb' -ex "run $mode" "$program"
    check "$mode"
    # The thread's own stack is there again, asked for or when the program goes on.
    sed -n '/^\[own\]$/,$p' "$mode.txt" | grep 'waiting::main ' >/dev/null || fail "$mode" "the own stack of the thread"
    timeout 120 gdb -q -nx -batch -ex 'set debuginfod enabled off' -ex "source $commands" -ex 'break ready_for_gdb' -ex "run $mode" \
        -ex 'myriad bt 1' -ex 'thread 1' -ex 'stepi' -ex 'echo [on]\n' -ex 'bt' "$program" >"$mode-on.txt" 2>&1 || true
    sed -n '/^\[on\]$/,$p' "$mode-on.txt" | grep 'waiting::main ' >/dev/null || fail "$mode-on" "the own stack after a step"
    # A core dump, where the kernel leaves one here.
    rm -f core*
    (ulimit -c unlimited 2>/dev/null && exec "$program" "$mode" dump) >/dev/null 2>&1 || true
    dump=$(find . -maxdepth 1 -name 'core*' | head -n 1)
    if [ -n "$dump" ]; then
        in_gdb "$mode-dump" "$program" "$dump"
        check "$mode-dump"
    else
        echo "gdb.sh: the kernel leaves no core dump in the folder of the program: that part is left out" >&2
    fi
done
echo 'gdb: tasks, workers and stacks are shown, in both modes, of a process and of its core dump'
