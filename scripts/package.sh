#!/usr/bin/env bash
# The packages as they would be published: each is packed, and built from what was packed (`cargo publish --dry-run`); has its licences
# and a README; and a program outside of the repository that depends on them builds, runs, and can be documented. Needs the registry.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

rm -rf "$target"/package/myriad-*
# Whatever is not `publish = false`; a working copy may have changes. What was packed stays unpacked in target/package.
cargo publish --workspace --dry-run --allow-dirty

program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
mkdir "$program/src"
cat >"$program/Cargo.toml" <<'TOML'
[package]
name = "outside"
edition = "2024"
[dependencies]
myriad-rt = "0.1"
[patch.crates-io]
TOML
bad=0 packages=0
for packed in "$target"/package/myriad-*/; do
    full=$(basename "$packed")
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        [ -s "$packed$file" ] || { echo "package.sh: $full has no $file" >&2; bad=1; }
    done
    cp -r "$packed" "$program/$full"
    echo "${full%-*} = { path = \"$full\" }" >>"$program/Cargo.toml"
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
