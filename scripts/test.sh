#!/usr/bin/env bash
# All tests, as the README says. Arguments go to cargo: `scripts/test.sh -p myriad-rt --test spawn`.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
    set -- --workspace
fi
exec cargo test "$@"
