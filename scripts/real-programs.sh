#!/usr/bin/env bash
# Programs of other people that use rayon, built from their published packages, unmodified: once with rayon on itself, once with
# crates/rayon-core. Compares what they print or write, and their time, in pairs. Takes long, and no part of it is in .ci/run.
#   scripts/real-programs.sh [PROGRAM..]      b3sum oxipng gifski tokei du-dust dssim; by default all
#   MYRIAD_REAL_PAIRS    how many pairs of runs (10)
#   RAYON_NUM_THREADS    how many threads (2)
# Needs python3, for pictures.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

declare -A version=([b3sum]=1.8.7 [oxipng]=10.2.1 [gifski]=1.34.0 [tokei]=15.0.0 [du-dust]=1.2.7 [dssim]=3.5.1)
root=$PWD
work=$(realpath -m "${CARGO_TARGET_DIR:-target}/real-programs")
pairs=${MYRIAD_REAL_PAIRS:-10}
export RAYON_NUM_THREADS=${RAYON_NUM_THREADS:-2}
programs=("$@")
[ $# -gt 0 ] || programs=(b3sum oxipng gifski tokei du-dust dssim)
failed=0
# A tree with many files, which is there when the programs are built: the sources of all that they use.
sources=${CARGO_HOME:-$HOME/.cargo}/registry/src
mkdir -p "$work/in" "$work/out"

# source_of PROGRAM: its published source, by way of cargo.
source_of() {
    local at=$work/fetch/$1
    mkdir -p "$at/src"
    : >"$at/src/lib.rs"
    cat >"$at/Cargo.toml" <<TOML
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
$1 = "=${version[$1]}"
[workspace]
TOML
    cargo fetch -q --manifest-path "$at/Cargo.toml" 2>"$at/log" || { cat "$at/log" >&2; return 1; }
    find "${CARGO_HOME:-$HOME/.cargo}"/registry/src -maxdepth 2 -type d -name "$1-${version[$1]}" | head -n 1
}

# build PROGRAM: both binaries, $work/PROGRAM.rayon and $work/PROGRAM.myriad.
build() {
    local source core binary=$1
    [ "$1" = du-dust ] && binary=dust
    source=$(source_of "$1")
    [ -n "$source" ] || return 1
    for core in rayon myriad; do
        local at=$work/$1-$core patch=()
        [ "$core" = rayon ] || patch=(--config "patch.crates-io.rayon-core.path='$root/crates/rayon-core'")
        mkdir -p "$at"
        cp -rpu "$source/." "$at"
        # A package from the registry is no member of this workspace, nor of that above it.
        grep -q '^\[workspace\]' "$at/Cargo.toml" || echo '[workspace]' >>"$at/Cargo.toml"
        (
            cd "$at" || exit 1
            # A lock file that names an older one would not take the stand-in; so that both have the same rayon, both are updated.
            cargo update -q "${patch[@]}" -p rayon-core --precise 1.13.0 2>/dev/null
            CARGO_TARGET_DIR=$at/target cargo build -q --release --bin "$binary" "${patch[@]}"
        ) || return 1
        if [ "$core" = myriad ] && ! grep -q '^name = "myriad-core"' "$at/Cargo.lock"; then
            echo "real-programs.sh: $1 was not built with crates/rayon-core" >&2
            return 1
        fi
        cp "$at/target/release/$binary" "$work/$1.$core"
    done
}

# Pictures, and a large file.
inputs() {
    [ -e "$work/in/done" ] && return
    python3 - "$work/in" <<'PYTHON' || return 1
import random, struct, sys, zlib

def picture(path, width, height, shift, noise):
    """Circles and gradients, with some noise."""
    r = random.Random(shift)
    rows = bytearray()
    for y in range(height):
        rows.append(0)
        for x in range(width):
            v = (x * x // 97 + y * y // 89 + shift * 40) & 255
            n = r.randrange(noise)
            rows += bytes(((x + n + shift * 7) & 255, (y + n) & 255, v))
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    with open(path, "wb") as f:
        f.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)))
        f.write(chunk(b"IDAT", zlib.compress(bytes(rows), 6)) + chunk(b"IEND", b""))

for i in range(6):
    picture(f"{sys.argv[1]}/frame{i}.png", 320, 240, i, 3)
picture(f"{sys.argv[1]}/a.png", 800, 600, 1, 2)
picture(f"{sys.argv[1]}/b.png", 800, 600, 1, 9)
PYTHON
    head -c 700000000 /dev/urandom >"$work/in/large" && touch "$work/in/done"
}

# call PROGRAM CORE: runs it; what it says goes to the standard output.
call() {
    local run=$work/$1.$2 out=$work/out/$1.$2
    case "$1" in
    b3sum) "$run" "$work/in/large" ;;
    oxipng) "$run" -q -o 2 --out "$out" "$work/in/a.png" && cat "$out" ;;
    gifski) "$run" -q -o "$out" "$work"/in/frame?.png && cat "$out" ;;
    tokei) "$run" --sort lines "$root/crates" "$sources" ;;
    du-dust) "$run" -P -c -b -d 3 -n 50 "$sources" ;;
    dssim) "$run" "$work/in/a.png" "$work/in/b.png" ;;
    esac
}

# measure PROGRAM: runs by turns, and one line.
measure() {
    local program=$1 i core order
    for core in rayon myriad; do
        call "$program" "$core" >"$work/out/$program.$core.said" 2>&1 || {
            echo "$program with $core failed:" >&2
            cat "$work/out/$program.$core.said" >&2
            return 1
        }
        : >"$work/out/$program.$core.times"
    done
    local same=same
    cmp -s "$work/out/$program.rayon.said" "$work/out/$program.myriad.said" || same=DIFFERENT
    local TIMEFORMAT='%R %U %S'
    for ((i = 0; i < pairs; i++)); do
        if ((i % 2)); then order="rayon myriad"; else order="myriad rayon"; fi
        for core in $order; do
            { time call "$program" "$core" >/dev/null 2>&1; } 2>>"$work/out/$program.$core.times"
        done
    done
    paste -d ' ' "$work/out/$program.rayon.times" "$work/out/$program.myriad.times" |
        awk -v program="$program ${version[$program]}" -v same="$same" '
        function sorted(a, n,    i, j, t) {
            for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] < a[j - 1]; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
        }
        function median(a, n) { return n % 2 ? a[(n + 1) / 2] : (a[n / 2] + a[n / 2 + 1]) / 2 }
        { n++; r[n] = $1; m[n] = $4; rc[n] = $2 + $3; mc[n] = $5 + $6 }
        END {
            sorted(r, n); sorted(m, n); sorted(rc, n); sorted(mc, n)
            printf "%-15s %6.3f %6.3f %6.3f %6.3f %6.2f %6.2f %8.2f  %s\n", program, r[1], median(r, n), m[1], median(m, n),
                m[1] / r[1], median(m, n) / median(r, n), median(mc, n) / median(rc, n), same
        }'
    [ "$same" = same ]
}

inputs || exit 1
for program in "${programs[@]}"; do
    [ -n "${version[$program]:-}" ] || {
        echo "real-programs.sh: there is no program '$program'; there are: ${!version[*]}" >&2
        exit 2
    }
    build "$program" || failed=1
done
echo
echo "seconds, $pairs pairs      rayon  median myriad median  ratio median CPU med.  output"
for program in "${programs[@]}"; do
    [ -x "$work/$program.myriad" ] || continue
    measure "$program" || failed=1
done
exit "$failed"
