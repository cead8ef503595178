#!/usr/bin/env bash
# Formatting, lints, comments, documentation, links between the texts, and the scripts themselves. Names of steps as arguments, or all:
#   scripts/lint.sh [fmt] [comments] [clippy] [doc] [links] [shell]
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# The packages of suites/ are a workspace of their own.
suites() {
    local command=$1
    shift
    cargo "$command" --manifest-path suites/Cargo.toml "$@"
}

# Libraries only: the command has the library's name, and its pages would lie in the same place. Then the pages are looked through.
doc() {
    RUSTDOCFLAGS="-D warnings" cargo doc --workspace --lib --no-deps &&
        scripts/rustdoc_examples.py "${CARGO_TARGET_DIR:-target}/doc"
}

# The files that a text links to, one a line: [text](file), and [text]: file.
linked_files() {
    {
        sed -n 's/^\[[^]]*\]: *\([^ ]*\)$/\1/p' "$1"
        grep -o '](\([^)#][^)]*\))' "$1" | sed 's/^](//; s/)$//'
    } | grep -v '^[a-z]*:' | sed 's/#.*//' | sort -u
}

# Links from a text to a file of the repository must lead somewhere.
links() {
    local bad=0 text target
    while IFS= read -r text; do
        while IFS= read -r target; do
            if [ ! -e "$(dirname "$text")/$target" ]; then
                echo "$text: no such file: $target" >&2
                bad=1
            fi
        done < <(linked_files "$text")
    done < <(find . -path ./target -prune -o -name '*.md' -print)
    return "$bad"
}

shell() {
    local script bad=0
    for script in scripts/*.sh .ci/run; do
        bash -n "$script" || bad=1
        [ -x "$script" ] || { echo "$script is not executable" >&2; bad=1; }
    done
    if command -v shellcheck >/dev/null; then
        shellcheck --severity=warning scripts/*.sh .ci/run || bad=1
    else
        echo "shellcheck is not here: only the syntax was checked"
    fi
    return "$bad"
}

[ $# -gt 0 ] || set -- fmt comments clippy doc links shell
failed=0
for step in "$@"; do
    case "$step" in
    fmt) cargo fmt --all -- --check && suites fmt --all -- --check ;;
    comments) scripts/comments.py ;;
    clippy)
        cargo clippy --workspace --all-targets -- -D warnings &&
            suites clippy --workspace --all-targets --target-dir "${CARGO_TARGET_DIR:-target}" -- -D warnings
        ;;
    doc) doc ;;
    links) links ;;
    shell) shell ;;
    *)
        echo "lint.sh: there is no step '$step'; there are: fmt comments clippy doc links shell" >&2
        exit 2
        ;;
    esac || {
        echo "lint.sh: $step failed" >&2
        failed=1
    }
done
exit "$failed"
