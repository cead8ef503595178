#!/usr/bin/env bash
# Runs each example and compares the last line that it prints with the first line of its file: `//! Prints: ...`.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

cargo build -q -p myriad-rt --features hyper,jobs --examples || exit 1
failed=0 count=0
for file in examples/*.rs; do
    name=$(basename "$file" .rs)
    expected=$(sed -n '1s,^//! Prints: ,,p' "$file")
    if [ -z "$expected" ]; then
        echo "$file: the first line does not say what it prints" >&2
        failed=1
        continue
    fi
    output=$(mktemp)
    # The limit is for hangs: each example takes less than a second.
    timeout 60 cargo run -q -p myriad-rt --features hyper,jobs --example "$name" >"$output" 2>"$output.err"
    status=$?
    printed=$(tail -n 1 "$output")
    if [ $status -ne 0 ] || [ "$printed" != "$expected" ]; then
        echo "$name: exit status $status" >&2
        echo "  expected: $expected" >&2
        echo "  printed:  $printed" >&2
        sed 's/^/  /' "$output.err" >&2
        failed=1
    else
        count=$((count + 1))
    fi
    rm -f "$output" "$output.err"
done
echo "$count examples printed what they should"
exit $failed
