#!/usr/bin/env bash
# Does it still compile with the oldest Rust that Cargo.toml promises? Needs that toolchain; with --install it installs it if
# it can. Without it this says so, and ends with 77: not tried.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
if [ -z "$version" ]; then
    echo "check-msrv.sh: Cargo.toml names no rust-version" >&2
    exit 1
fi
case "${1:-}" in
'' | --install) ;;
*)
    echo "check-msrv.sh: '$1' is not known, only --install" >&2
    exit 2
    ;;
esac
skip() {
    echo "check-msrv.sh: SKIPPED: Rust $version was not tried: $1" >&2
    exit 77
}
if ! command -v rustup >/dev/null; then
    skip "there is no rustup (https://rustup.rs)"
fi
if ! rustup run "$version" rustc --version >/dev/null 2>&1; then
    if [ "${1:-}" != --install ]; then
        skip "it is not installed; scripts/check-msrv.sh --install does that"
    fi
    timeout 300 rustup toolchain install "$version" --profile minimal --no-self-update || skip "rustup cannot install it"
fi
# A target folder of its own: otherwise each change of the toolchain compiles everything anew.
rustup run "$version" cargo check --workspace --locked --target-dir "${CARGO_TARGET_DIR:-target}/msrv"
echo "compiles with $(rustup run "$version" rustc --version)"
