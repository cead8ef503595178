#!/usr/bin/env bash
# Builds the C interface and installs it: header, shared and static library, and what pkg-config needs.
#   scripts/install-capi.sh PREFIX
# PREFIX is a folder like /usr/local or ~/.local. Then: cc program.c $(pkg-config --cflags --libs myriad), with
# PKG_CONFIG_PATH=PREFIX/lib/pkgconfig if that is not where pkg-config looks.
# MYRIAD_PROFILE=dev builds without optimising, for tests.
set -euo pipefail

if [ $# -ne 1 ] || [[ "$1" == -* ]]; then
    echo "install-capi.sh: say where to: scripts/install-capi.sh PREFIX (a folder like /usr/local)" >&2
    exit 2
fi
mkdir -p "$1"
prefix=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."

profile=${MYRIAD_PROFILE:-release}
folder=$profile
[ "$profile" != dev ] || folder=debug
cargo build -p myriad-capi --lib --profile "$profile"
built=${CARGO_TARGET_DIR:-target}/$folder
version=$(sed -n '/^\[workspace.package\]/,/^$/s/^version = "\(.*\)"$/\1/p' Cargo.toml)

mkdir -p "$prefix/include" "$prefix/lib/pkgconfig"
install -m 644 crates/capi/include/myriad.h "$prefix/include/myriad.h"
case "$(uname -s)" in
Darwin)
    install -m 755 "$built/libmyriad_capi.dylib" "$prefix/lib/libmyriad.0.dylib"
    ln -sf libmyriad.0.dylib "$prefix/lib/libmyriad.dylib"
    private='-lpthread -lm'
    ;;
*)
    install -m 755 "$built/libmyriad_capi.so" "$prefix/lib/libmyriad.so.$version"
    # The number is that of the interface: what programs are linked with is libmyriad.so.0.
    ln -sf "libmyriad.so.$version" "$prefix/lib/libmyriad.so.0"
    ln -sf libmyriad.so.0 "$prefix/lib/libmyriad.so"
    private='-lpthread -ldl -lm -lgcc_s'
    ;;
esac
install -m 644 "$built/libmyriad_capi.a" "$prefix/lib/libmyriad.a"
cat >"$prefix/lib/pkgconfig/myriad.pc" <<EOF
prefix=$prefix
includedir=\${prefix}/include
libdir=\${prefix}/lib

Name: myriad
Description: Lightweight tasks that wait without holding up a thread, parallel loops, channels, locks
Version: $version
Cflags: -I\${includedir}
Libs: -L\${libdir} -lmyriad
Libs.private: $private
EOF
echo "installed in $prefix: include/myriad.h, lib/libmyriad.so, lib/libmyriad.a, lib/pkgconfig/myriad.pc"
