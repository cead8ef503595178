#!/usr/bin/env bash
# The C interface as it is installed, and FFTW and OpenBLAS on our workers, with the real libraries. What is missing it
# installs if it can: FFTW by apt-get if it is root, OpenBLAS from PyPI. The C interface's programs run under AddressSanitizer too, of the
# C compiler, which sees double frees and stale pointers on both sides. Ends with 77 if it could not look at something.
set -euo pipefail
cd "$(dirname "$0")/.."

skipped=()
probe=$(mktemp -d)
trap 'rm -rf "$probe"' EXIT

# is_fftw_here: its header and its library.
is_fftw_here() {
    echo '#include <fftw3.h>
    int main(void) { return !fftw_init_threads(); }' >"$probe/probe.c"
    "${CC:-cc}" "$probe/probe.c" -o "$probe/probe" -lfftw3_threads -lfftw3 2>/dev/null && "$probe/probe"
}

if ! is_fftw_here && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    { apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends libfftw3-dev; } ||
        echo "apt-get cannot install libfftw3-dev" >&2
fi
fftw=no
if is_fftw_here; then
    fftw=yes
    MYRIAD_FOREIGN=required cargo test -p myriad-foreign --test libraries fftw::
    MYRIAD_FOREIGN=required cargo test -p myriad-capi --test interface programs::fftw
else
    skipped+=("FFTW (Debian: libfftw3-dev)")
fi

# asan_works: a planted error, memory that is freed twice, is found.
asan_works() {
    echo '#include <stdlib.h>
    int main(void) { void *volatile p = malloc(7); void *q = p; free(p); free(q); return 0; }' >"$probe/planted.c"
    "${CC:-cc}" -w -fsanitize=address "$probe/planted.c" -o "$probe/planted" 2>/dev/null &&
        ! "$probe/planted" 2>"$probe/report" && grep -q 'attempting double-free' "$probe/report"
}

if asan_works; then
    # Without leaks: what lives for ever on purpose is for `leaks.sh` to tell. And without the program that forks beside busy threads:
    # the sanitizer of gcc 12 takes its allocator's locks into the child, which hangs in its first `malloc`, also where Myriad is not there.
    MYRIAD_C_FLAGS=-fsanitize=address ASAN_OPTIONS=detect_leaks=0 \
        cargo test -p myriad-capi --test interface programs:: -- --skip a_child_beside_busy_threads
else
    skipped+=("AddressSanitizer of ${CC:-cc} (Debian: gcc)")
fi

if [ -z "${MYRIAD_OPENBLAS:-}" ]; then
    status=0
    MYRIAD_OPENBLAS=$(scripts/install-openblas.sh) || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq 77 ] || exit "$status"
    export MYRIAD_OPENBLAS
fi
if [ -n "${MYRIAD_OPENBLAS:-}" ]; then
    MYRIAD_FOREIGN=required cargo test -p myriad-foreign --test libraries openblas::
else
    skipped+=("OpenBLAS 0.3.28 (scripts/install-openblas.sh)")
fi

# Both with rayon and tokio, nested at random: docs/dev/RAYON-INSIDE.md, "The mix". (It names what it runs without. With the flags of rayon-test.sh,
# which builds the same.)
required=
[ ${#skipped[@]} -gt 0 ] || required=required
RUSTFLAGS="${RUSTFLAGS:-} --cfg rayon_on_fibers" \
    MYRIAD_FOREIGN=$required MYRIAD_MIX_SECONDS=${MYRIAD_MIX_SECONDS:-20} CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-target}/rayon-core \
    cargo test -q --manifest-path crates/rayon-core/Cargo.toml -p rayon-programs --test mix

# As a user has it: installed, found by pkg-config, compiled, linked, run.
MYRIAD_PROFILE=dev scripts/install-capi.sh "$probe/prefix"
if ! command -v pkg-config >/dev/null && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
    DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends pkg-config ||
        echo "apt-get cannot install pkg-config" >&2
fi
if command -v pkg-config >/dev/null; then
    export PKG_CONFIG_PATH=$probe/prefix/lib/pkgconfig
    read -r -a flags <<<"$(pkg-config --cflags --libs myriad)"
    "${CC:-cc}" -Wall -Wextra -Werror crates/capi/tests/c/program.c -o "$probe/program" "${flags[@]}"
    for mode in threads fibers; do
        LD_LIBRARY_PATH=$probe/prefix/lib "$probe/program" "$mode"
    done
    read -r -a flags <<<"$(pkg-config --cflags myriad)"
    read -r -a private <<<"$(pkg-config --static --libs-only-l myriad | sed 's/-lmyriad//')"
    "${CC:-cc}" crates/capi/tests/c/program.c -o "$probe/program" "${flags[@]}" "$probe/prefix/lib/libmyriad.a" "${private[@]}"
    "$probe/program" threads
else
    skipped+=("the installed C interface (pkg-config)")
fi

if [ ${#skipped[@]} -gt 0 ]; then
    printf 'foreign.sh: SKIPPED: %s\n' "${skipped[@]}" >&2
    exit 77
fi
echo "FFTW: $fftw; OpenBLAS: $MYRIAD_OPENBLAS; the installed C interface works"
