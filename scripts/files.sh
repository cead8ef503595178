#!/usr/bin/env bash
# For scripts that run some files of the behaviour tests (crates/myriad/tests/TOPIC/FILE.rs): a file is a module of its topic's program.
#   . scripts/files.sh
#   choose spawn scope     # sets `programs` (for cargo) and `filters` (for the programs)
#   cargo test "${built[@]}" "${programs[@]}" -- "${filters[@]}"

# What `scripts/test.sh` builds, which cargo then builds no second time.
# shellcheck disable=SC2034 # for the caller
built=(--workspace --features myriad-rt/rand_core)

choose() {
    local name path other skips=() topics=" "
    # Both are for the caller.
    # shellcheck disable=SC2034
    programs=() filters=()
    for name in "$@"; do
        path=$(echo crates/myriad/tests/*/"$name.rs")
        if [ ! -f "$path" ]; then
            echo "choose: there is no crates/myriad/tests/*/$name.rs" >&2
            return 1
        fi
        path=$(dirname "$path")
        [[ $topics == *" $path "* ]] || topics+="$path "
        filters+=("$name::")
    done
    for path in $topics; do
        programs+=(--test "$(basename "$path")")
        # A filter is a part of a name: `scope::` would take `local_scope::` too.
        for other in "$path"/*.rs; do
            other=$(basename "$other" .rs)
            for name in "$@"; do
                if [[ $other == *"$name" && " $* " != *" $other "* ]]; then
                    skips+=(--skip "$other::")
                fi
            done
        done
    done
    filters+=("${skips[@]}")
}
