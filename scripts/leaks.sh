#!/usr/bin/env bash
# Starts and stops runtimes, tasks and channels under a leak checker: LeakSanitizer if there is a nightly toolchain, else
# valgrind. Without either it says so, and ends with 77: not tried.
#
# What lives for ever on purpose (pools, workers, memory of records) is reachable from statics, so it is no leak.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# Tests that end all their tasks; `lifecycle` starts and stops a thousand runtimes. Not those that leave blocked closures
# behind on purpose.
tests=(spawn scope join futures runtimes lifecycle timers task_local scoped_values rng channel_close channel_cancel channel_messages channel_pairs
    gangs keep_thread)
# Of these, two leak on purpose (a future that is forgotten, a counter that lives for ever), one forks, and the last ones measure memory
# and time, which the checker takes too: it remembers every thread that ever was.
skipped=(--skip forgotten --skip free_tasks_among_those_of_the_scope
    --skip after_a_fork
    --skip in_the_same_memory --skip an_idle_runtime_sleeps)
. scripts/files.sh
choose "${tests[@]}" || exit 1

# A checker that does not find a planted leak would find nothing else either.
planted='fn main() { std::hint::black_box(Box::leak(Box::new([1u8; 1000])) as *mut _ as usize & 0); }'
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '%s\n' "$planted" >"$folder/leaks.rs"

sanitizer_works() {
    rustc +nightly --version >/dev/null 2>&1 &&
        rustc +nightly -Zsanitizer=leak -o "$folder/leaks" "$folder/leaks.rs" >/dev/null 2>&1 &&
        ! "$folder/leaks" >"$folder/out" 2>&1 && grep -q 'detected memory leaks' "$folder/out"
}

if sanitizer_works; then
    echo "LeakSanitizer of $(rustc +nightly --version)"
    host=$(rustc -vV | sed -n 's/^host: //p')
    RUSTFLAGS="-Zsanitizer=leak" cargo +nightly test -q -p myriad-rt --target "$host" \
        --target-dir "${CARGO_TARGET_DIR:-target}/leaks" "${programs[@]}" -- "${filters[@]}" "${skipped[@]}"
    exit
fi

if command -v valgrind >/dev/null; then
    echo "no LeakSanitizer here; $(valgrind --version), on the examples"
    cargo build -q -p myriad-rt --examples || exit 1
    failed=0
    # In threads mode, and without closures that stay blocked.
    for name in hello_tasks pipeline prime_sieve parallel_sum futures_and_closures timeouts; do
        valgrind -q --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite --error-exitcode=9 \
            "${CARGO_TARGET_DIR:-target}/debug/examples/$name" >/dev/null || { echo "$name leaks" >&2; failed=1; }
    done
    exit $failed
fi

echo "leaks.sh: SKIPPED: neither a nightly toolchain with LeakSanitizer nor valgrind is here, so nobody looked for leaks" >&2
exit 77
