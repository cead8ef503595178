#!/usr/bin/env bash
# The programs of crates/rayon-core/programs twice, with rayon on itself and on Myriad, by turns; prints the medians and their ratio
# (below 1: Myriad is faster). Both must compute the same.
#   scripts/rayon-bench.sh [--rounds N] [PROGRAM..]
set -euo pipefail
cd "$(dirname "$0")/.."

rounds=5
if [ "${1:-}" = --rounds ]; then
    rounds=$2
    shift 2
fi
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/rayon-bench")
work=$target/genuine-package
mkdir -p "$work"
# A package of its own for the genuine one: what is patched is patched in the whole of a workspace.
cat >"$work/Cargo.toml" <<END
[package]
name = "rayon-programs"
version = "0.1.0"
edition = "2024"
[[bin]]
name = "rayon-programs"
path = "$PWD/crates/rayon-core/programs/src/main.rs"
[dependencies]
rayon = "1.12"
[workspace]
[profile.release]
debug = 1
lto = "fat"
codegen-units = 1
END
cargo build -q --release --manifest-path "$work/Cargo.toml" --target-dir "$target/genuine"
cargo build -q --release --manifest-path crates/rayon-core/Cargo.toml -p rayon-programs --target-dir "$target/myriad"
[ -z "${MYRIAD_RAYON_BUILD_ONLY:-}" ] || exit 0

results=$(mktemp)
trap 'rm -f "$results"' EXIT
for _ in $(seq "$rounds"); do
    for side in genuine myriad; do
        "$target/$side/release/rayon-programs" "$@" | sed "s/^/$side /" >>"$results"
    done
done
awk '
    function median(key,   n, i, j, x, v) {
        n = split(times[key], v, " ")
        for (i = 2; i <= n; i++) for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { x = v[j]; v[j] = v[j - 1]; v[j - 1] = x }
        return v[int((n + 1) / 2)]
    }
    !($2 in check) { order[++programs] = $2; check[$2] = $4 }
    check[$2] != $4 { print "rayon-bench.sh: " $2 ": results differ" > "/dev/stderr"; bad = 1 }
    { times[$1, $2] = times[$1, $2] " " $3 }
    END {
        printf "%-14s %12s %12s %7s\n", "program", "rayon, us", "myriad, us", "ratio"
        for (p = 1; p <= programs; p++) {
            name = order[p]; a = median("genuine" SUBSEP name); b = median("myriad" SUBSEP name)
            printf "%-14s %12.1f %12.1f %7.2f\n", name, a, b, b / a
        }
        exit bad
    }
' "$results"
