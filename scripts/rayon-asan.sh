#!/usr/bin/env bash
# A short selection of the programs of crates/rayon-core under AddressSanitizer, which knows of switches between fibers (`--cfg
# myriad_asan`): jobs stand in frames of those who wait for them. Both modes. Shares what it builds with asan.sh and hostile.sh. Without a
# nightly toolchain or its sanitizer the script says so, and ends with 77: not tried. Arguments go to cargo, in place of the selection.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
host=$(rustc -vV | sed -n 's/^host: //p')
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/asan")

# A checker that does not find a planted error would find nothing else either: a frame that is used when its function has returned.
cat >"$folder/planted.rs" <<'END'
#[inline(never)]
fn frame() -> *const u64 {
    let x = std::hint::black_box(std::env::args().count() as u64);
    std::hint::black_box(&raw const x)
}
fn main() {
    std::process::exit(i32::from(unsafe { std::ptr::read_volatile(frame()) } == 1));
}
END
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=1
if ! rustc +nightly -Zsanitizer=address --target "$host" -o "$folder/planted" "$folder/planted.rs" >/dev/null 2>&1 ||
    "$folder/planted" >"$folder/out" 2>&1 || ! grep -q 'stack-use-after-return' "$folder/out"; then
    echo "rayon-asan.sh: SKIPPED: no nightly toolchain with AddressSanitizer is here, so nobody looked at rayon's jobs with it" >&2
    exit 77
fi
echo "AddressSanitizer of $(rustc +nightly --version)"

[ $# -gt 0 ] || set -- --test user_code --test blocking --test stacks --test fibers
# Slower than otherwise, several times.
export MYRIAD_TEST_PATIENCE=${MYRIAD_TEST_PATIENCE:-120}
# (With the profile of the other workspace, so that what both build is the same.)
RUSTFLAGS="-Zsanitizer=address --cfg myriad_asan" CARGO_PROFILE_DEV_DEBUG=1 \
    cargo +nightly test -q --config profile.dev.package.libc.debug=0 --manifest-path crates/rayon-core/Cargo.toml -p rayon-programs --target "$host" --target-dir "$target" "$@"
