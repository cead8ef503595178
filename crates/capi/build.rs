//! Gives the shared library its name: what a program that was linked with it asks for when it starts.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "freebsd" | "netbsd" | "openbsd" | "dragonfly" | "android") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmyriad.so.0");
        }
        Ok("macos") => println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmyriad.0.dylib"),
        _ => (),
    }
}
