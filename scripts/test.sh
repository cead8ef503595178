#!/usr/bin/env bash
# All tests, as the README says. Arguments go to cargo: `scripts/test.sh -p myriad-rt --test tasks spawn::`.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
    # With the features that crates of others need; and to the end, also after a failure.
    # `files.sh` says it too.
    set -- --workspace --features myriad-rt/rand_core --no-fail-fast
fi
exec cargo test "$@"
