#!/usr/bin/env bash
# Hostile foreign code under AddressSanitizer and under valgrind: cells of the matrix at random, and storms.
#
# Time-boxed: MYRIAD_HOSTILE_SECONDS (60) for all of it, without the builds. The seed is printed; MYRIAD_HOSTILE_SEED repeats a
# run, as far as the system's schedule lets it. It names each checker that is missing, and ends with 77 then: not all was tried.
#
# The sanitizer is told of fibers (`--cfg myriad_asan`), and looks at both modes; valgrind is not, and looks at threads mode.
# MYRIAD_HOSTILE_MODE (`fiber` or `threads`) leaves one of them.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

seconds=${MYRIAD_HOSTILE_SECONDS:-60}
export MYRIAD_HOSTILE_SEED=${MYRIAD_HOSTILE_SEED:-$RANDOM$RANDOM}
# Checkers are slow, and so is a busy machine.
export MYRIAD_TEST_PATIENCE=${MYRIAD_TEST_PATIENCE:-60}
echo "hostile.sh: MYRIAD_HOSTILE_SEED=$MYRIAD_HOSTILE_SEED, $seconds s"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0 skipped=()

# The test program that cargo has built last with these arguments.
program() {
    "$@" --no-run --message-format=json 2>"$folder/build" |
        sed -n 's/.*"executable":"\([^"]*hostile-[^"]*\)".*/\1/p' | tail -1
}

# rages PROGRAM SHARE: cells for a half of this share of the time, storms for the other.
rages() {
    local half=$((seconds / $2 / 2))
    for test in matrix storm; do
        MYRIAD_HOSTILE_SECONDS=$((half > 0 ? half : 1)) "$1" "$test" --exact --nocapture || failed=1
    done
}

# A checker that does not find a planted error would find nothing else either.
planted='fn main() {
    let x = Box::into_raw(Box::new(7u64));
    unsafe { drop(Box::from_raw(x)) };
    std::process::exit(i32::from(unsafe { std::ptr::read_volatile(x) } == 1));
}'
printf '%s\n' "$planted" >"$folder/planted.rs"

asan_works() {
    rustc +nightly -Zsanitizer=address -o "$folder/asan" "$folder/planted.rs" >/dev/null 2>&1 &&
        ! "$folder/asan" >"$folder/out" 2>&1 && grep -q 'heap-use-after-free' "$folder/out"
}

valgrind_works() {
    command -v valgrind >/dev/null && rustc -o "$folder/plain" "$folder/planted.rs" >/dev/null 2>&1 &&
        ! valgrind -q --error-exitcode=99 "$folder/plain" >"$folder/out" 2>&1 && grep -q 'Invalid read' "$folder/out"
}

if ! asan_works; then
    skipped+=("AddressSanitizer (a nightly toolchain of rustup), at both modes")
else
    echo "AddressSanitizer of $(rustc +nightly --version)"
    host=$(rustc -vV | sed -n 's/^host: //p')
    export RUSTFLAGS="-Zsanitizer=address --cfg myriad_asan"
    asan=$(program cargo +nightly test -q -p myriad-rt --test hostile --target "$host" \
        --target-dir "${CARGO_TARGET_DIR:-target}/asan")
    unset RUSTFLAGS
    if [ -n "$asan" ]; then
        # What lives for ever on purpose is for `leaks.sh` to tell.
        ASAN_OPTIONS="detect_leaks=0:abort_on_error=1" rages "$asan" 2
    else
        cat "$folder/build" >&2
        failed=1
    fi
fi

if [ "${MYRIAD_HOSTILE_MODE:-threads}" != threads ]; then
    echo "only mode $MYRIAD_HOSTILE_MODE, at which valgrind does not look"
elif ! valgrind_works; then
    skipped+=("valgrind (Debian: valgrind), at threads mode")
else
    valgrind --version
    plain=$(program cargo test -q --workspace --features myriad-rt/rand_core --test hostile)
    if [ -n "$plain" ]; then
        MYRIAD_HOSTILE_MODE=threads MYRIAD_HOSTILE_WRAPPER="valgrind -q --error-exitcode=99 --fair-sched=yes --num-callers=40 --log-fd=1" MYRIAD_HOSTILE_JOBS=4 rages "$plain" 2
    else
        cat "$folder/build" >&2
        failed=1
    fi
fi

if [ ${#skipped[@]} -gt 0 ]; then
    printf 'hostile.sh: SKIPPED: nobody looked with %s\n' "${skipped[@]}" >&2
    [ $failed = 1 ] || exit 77
fi
exit $failed
