#!/usr/bin/env bash
# The packages as they would be published (`cargo publish --dry-run`): each has its licences and a README. Outside of the repository,
# from what was packed: a program that depends on the libraries builds and runs, and the libraries can be documented; and
# `cargo install` installs the command, which measures. Needs the registry.
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# Whatever is not `publish = false`; a working copy may have changes. All of it is built below, so it is not here (--no-verify).
rm -rf "$target/package"
cargo publish --workspace --dry-run --allow-dirty --no-verify

program=$(mktemp -d)
trap 'rm -rf "$program"' EXIT
mkdir "$program/src" "$program/.cargo"
cat >"$program/Cargo.toml" <<'TOML'
[package]
name = "outside"
edition = "2024"
[dependencies]
myriad-rt = "0.1"
myriad-foreign = "0.1"
TOML
# For the program and for `cargo install`: the packages come from what was packed, all else from the registry. (Without debug
# information: 4 GB otherwise.)
printf '[profile.dev]\ndebug = 0\n[patch.crates-io]\n' >"$program/.cargo/config.toml"
bad=0 packages=0
# (Where cargo lays them depends on its version; the copies in tmp-registry are the same.)
while IFS= read -r packed; do
    full=$(basename "$packed" .crate)
    tar -xzf "$packed" -C "$program"
    for file in LICENSE-MIT LICENSE-APACHE README.md; do
        [ -s "$program/$full/$file" ] || { echo "package.sh: $full has no $file" >&2; bad=1; }
    done
    echo "${full%-*} = { path = \"$program/$full\" }" >>"$program/.cargo/config.toml"
    packages=$((packages + 1))
done < <(find "$target/package" -name '*.crate' -not -path '*/tmp-registry/*')
[ "$bad" -eq 0 ] && [ "$packages" -gt 0 ] || { echo "package.sh: $packages packages" >&2; exit 1; }

cat >"$program/src/main.rs" <<'RUST'
fn main() {
    _ = myriad_foreign::fftw::Fftw::load(myriad_foreign::fftw::Precision::Double); // may not be here
    println!("{}", myriad::run(|| myriad::spawn(|| 6 * 7).join().unwrap()));
}
RUST
answer=$(cd "$program" && cargo run -q --target-dir "$target/package-target")
[ "$answer" = 42 ] || { echo "package.sh: the program outside printed '$answer'" >&2; exit 1; }
(cd "$program" && cargo doc -q --no-deps -p myriad-rt -p myriad-foreign --target-dir "$target/package-target")

# In debug mode, which is built faster.
(cd "$program" && cargo install -q --debug --path "$program"/myriad-cli-* --root "$program/installed" --target-dir "$target/package-target")
"$program/installed/bin/myriad" bench fib --n 5 --json | grep -q '"system":"myriad"'
echo "$packages packages can be published; a program outside builds, runs and is documented; the command is installed and measures"
