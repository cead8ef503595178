#!/usr/bin/env bash
# Fetches an OpenBLAS that lets us run its parts (0.3.28 or later; Debian 12 has 0.3.21): the one in the Python package
# scipy-openblas64, from PyPI. Prints the library's path, for MYRIAD_OPENBLAS:
#   export MYRIAD_OPENBLAS=$(scripts/install-openblas.sh [FOLDER])
# FOLDER is target/openblas unless said otherwise. Without pip or network: a message, and status 77.
set -euo pipefail
cd "$(dirname "$0")/.."

folder=${1:-${CARGO_TARGET_DIR:-target}/openblas}
mkdir -p "$folder"
find_library() {
    find "$folder" -name 'libscipy_openblas64_.*' | head -n 1
}
library=$(find_library)
if [ -z "$library" ]; then
    python=$(command -v python3 || true)
    if [ -z "$python" ] || ! "$python" -m pip --version >/dev/null 2>&1; then
        echo "install-openblas.sh: python3 with pip is missing (Debian: python3-pip)" >&2
        exit 77
    fi
    if ! "$python" -m pip download --quiet --disable-pip-version-check --no-deps --dest "$folder" scipy-openblas64 >&2; then
        echo "install-openblas.sh: pip cannot download scipy-openblas64" >&2
        exit 77
    fi
    # A wheel is a zip file.
    "$python" -m zipfile -e "$folder"/scipy_openblas64-*.whl "$folder"
    library=$(find_library)
fi
if [ -z "$library" ]; then
    echo "install-openblas.sh: there is no libscipy_openblas64_ in $folder" >&2
    exit 1
fi
realpath "$library"
