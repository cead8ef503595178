//! Cargo takes `links` only of a package with a build script. There is nothing to build.
fn main() {
    println!("cargo:rerun-if-changed=build.rs");
}
