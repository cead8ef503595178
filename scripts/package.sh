#!/usr/bin/env bash
# The packages as they would be published: each is packed, and built from what was packed (`cargo publish --dry-run`); has its licences
# and a README; and a program outside of the repository that depends on them builds, runs, and can be documented. Needs the registry.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# Whatever is not `publish = false`. A working copy may have changes.
cargo publish --workspace --dry-run --allow-dirty

program=$target/package-program
rm -rf "$program"
mkdir -p "$program/src"
cat >"$program/Cargo.toml" <<'TOML'
[package]
name = "outside"
edition = "2024"
[workspace]
[dependencies]
myriad-rt = "0.1"
[patch.crates-io]
TOML
bad=0 packages=0
for packed in "$target"/package/myriad-*.crate; do
    full=$(basename "$packed" .crate)
    name=${full%-*}
    files=$(tar -tzf "$packed")
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        grep -qx "$full/$file" <<<"$files" || { echo "package.sh: $full has no $file" >&2; bad=1; }
    done
    tar -xzf "$packed" -C "$program"
    echo "$name = { path = \"$full\" }" >>"$program/Cargo.toml"
    packages=$((packages + 1))
done
[ "$bad" -eq 0 ] || exit 1

cat >"$program/src/main.rs" <<'RUST'
fn main() {
    println!("{}", myriad::run(|| myriad::spawn(|| 6 * 7).join().unwrap()));
}
RUST
answer=$(cd "$program" && cargo run -q --target-dir "$target/package-target")
[ "$answer" = 42 ] || { echo "package.sh: the program outside printed '$answer'" >&2; exit 1; }
(cd "$program" && cargo doc -q --no-deps -p myriad-rt --target-dir "$target/package-target")
echo "$packages packages can be published; a program outside builds, runs and is documented"
