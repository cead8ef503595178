#!/usr/bin/env bash
# table.sh SYSTEM TABLE OUTCOMES: compares the lines `name: outcome` of another system with its column of a table (table.rs).
# Shows what differs on purpose, with the reasons.
set -euo pipefail
system=$1 table=$2 outcomes=$3

there=$(cat "$outcomes")
rows=$(grep -v '^#' "$table")
if ! diff <(awk -F' *[|] *' '{ print $1 ": " $3 }' <<<"$rows") <(echo "$there"); then
    echo "table.sh: < is the table, > is $system" >&2
    exit 1
fi
awk -F' *[|] *' -v name="$system" '
    NF > 3 { differ++; print $1 ": " $3 "; Myriad: " $4 " (" $5 ")" }
    END { print NR " situations come out of " name " as the table says; Myriad differs in " differ + 0 " of them, on purpose" }
' <<<"$rows"
