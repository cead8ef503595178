//! Gives the shared library its name: what a program that was linked with it asks for when it
//! starts. And it stays where it is once it was loaded: `dlclose` would take the code from its
//! threads, and from its handler of `SIGSEGV`.

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    match std::env::var("CARGO_CFG_TARGET_OS").as_deref() {
        Ok("linux" | "freebsd" | "netbsd" | "openbsd" | "dragonfly" | "android") => {
            println!("cargo:rustc-cdylib-link-arg=-Wl,-soname,libmyriad.so.0");
            println!("cargo:rustc-cdylib-link-arg=-Wl,-z,nodelete");
        }
        Ok("macos") => println!("cargo:rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libmyriad.0.dylib"),
        _ => (),
    }
}
