#!/usr/bin/env bash
# The situations in which a model of Erlang's processes goes wrong most easily, on Erlang itself: compares what comes out with the table
# crates/myriad/tests/actors/as_erlang/outcomes.txt, with which as_erlang.rs compares Myriad. Needs Erlang (Debian: erlang-base).
# Ends with 77 without. Takes 5 s, which are those of a supervisor's window.
set -euo pipefail
cd "$(dirname "$0")/../crates/myriad/tests/actors/as_erlang"

for program in erl erlc; do
    command -v "$program" >/dev/null || { echo "erlang.sh: there is no $program" >&2; exit 77; }
done
beams=$(mktemp -d)
trap 'rm -r "$beams"' EXIT
erlc -o "$beams" situations.erl
../../common/table.sh Erlang outcomes.txt <(ERL_CRASH_DUMP_SECONDS=0 erl -noinput -pa "$beams" -s situations main)
