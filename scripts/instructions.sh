#!/usr/bin/env bash
# Counts the instructions of an operation, by callgrind: what a change costs where the clock is too noisy. One worker; an operation
# is the difference between 3 N and N of them. Release, thin LTO.
#   scripts/instructions.sh [--mode fibers|threads] [--n N] [--base REVISION] [PART-OF-A-NAME]
# With --base: that revision beside the working tree, and the ratio.
# Rows in which threads hand over to each other vary by some per cent between runs of one binary: run them twice.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=fibers n=3000 base='' only=''
while [ $# -gt 0 ]; do
    case $1 in
    --mode) mode=$2 && shift ;;
    --n) n=$2 && shift ;;
    --base) base=$2 && shift ;;
    -*)
        echo "instructions.sh: '$1' is not known; see the head of this file" >&2
        exit 2
        ;;
    *) only=$1 ;;
    esac
    shift
done
if ! command -v valgrind >/dev/null; then
    echo "instructions.sh: SKIPPED: there is no valgrind" >&2
    exit 77
fi

target=$(realpath -m "${CARGO_TARGET_DIR:-target}/instructions")
unset CARGO_TARGET_DIR
folder=$(mktemp -d)
trap 'git worktree remove --force "$folder/base" 2>/dev/null; rm -rf "$folder"' EXIT

# program NAME CHECKOUT: builds the operations against that checkout, and names the binary.
program() {
    local package=$target/$1
    mkdir -p "$package/src"
    cp scripts/instructions/main.rs "$package/src/main.rs"
    cat >"$package/Cargo.toml" <<TOML
[package]
name = "operations"
version = "0.0.0"
edition = "2024"
[dependencies]
myriad = { path = "$2/crates/myriad", package = "myriad-rt" }
[profile.release]
debug = 1
lto = "thin"
codegen-units = 1
[workspace]
TOML
    CARGO_TARGET_DIR=$package/target cargo build -q --release --manifest-path "$package/Cargo.toml" >&2
    cp "$package/target/release/operations" "$folder/$1.program"
    echo "$folder/$1.program"
}
# executed PROGRAM NAME N: instructions of that many.
executed() {
    valgrind --tool=callgrind --callgrind-out-file=/dev/null "$1" "$mode" "$2" "$3" 2>&1 | sed -n 's/^.*Collected : \([0-9]*\).*/\1/p'
}
# each PROGRAM NAME: instructions of one.
each() {
    local few many
    few=$(executed "$1" "$2" "$n")
    many=$(executed "$1" "$2" $((3 * n)))
    if [ -z "$few" ] || [ -z "$many" ]; then
        echo "-"
    else
        awk -v d=$((many - few)) -v n="$n" 'BEGIN { printf "%.1f", d / (2 * n) }'
    fi
}

now=$(program now "$PWD")
before=''
if [ -n "$base" ]; then
    git worktree add -q --detach "$folder/base" "$base"
    before=$(program base "$folder/base")
fi
printf '%-28s %10s' "$mode, instructions each" now
[ -z "$before" ] || printf ' %10s %7s' "${base:0:10}" ratio
echo
"$now" "$mode" | while read -r name; do
    [[ $name == *"$only"* ]] || continue
    a=$(each "$now" "$name")
    printf '%-28s %10s' "$name" "$a"
    if [ -n "$before" ]; then
        b=$(each "$before" "$name")
        printf ' %10s %7s' "$b" "$(awk -v a="$a" -v b="$b" 'BEGIN { if (a > 0 && b > 0) printf "%.3f", a / b; else print "-" }')"
    fi
    echo
done
