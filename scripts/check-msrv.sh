#!/usr/bin/env bash
# Does it still compile with the oldest Rust that Cargo.toml promises? Needs that toolchain: without it this says so and
# succeeds; with --install it installs it first.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
if [ -z "$version" ]; then
    echo "check-msrv.sh: Cargo.toml names no rust-version" >&2
    exit 1
fi
if ! command -v rustup >/dev/null; then
    echo "rustup is not here: Rust $version was not tried"
    exit 0
fi
if ! rustup run "$version" rustc --version >/dev/null 2>&1; then
    if [ "${1:-}" != --install ]; then
        echo "Rust $version is not installed, so it was not tried; scripts/check-msrv.sh --install does it"
        exit 0
    fi
    rustup toolchain install "$version" --profile minimal --no-self-update
fi
# A target folder of its own: otherwise each change of the toolchain compiles everything anew.
rustup run "$version" cargo check --workspace --locked --target-dir "${CARGO_TARGET_DIR:-target}/msrv"
echo "compiles with $(rustup run "$version" rustc --version)"
