#!/usr/bin/env bash
# The tests of other people's channels and locks against Myriad's, by way of the packages in suites/, which have their public interfaces, and
# those of hyper-util over its sockets: each test in a process of its own, on plain threads, and on tasks in both modes. Then a table; see
# suites/README.md.
#   scripts/suites.sh [SUITE..]          crossbeam, rayon, async-channel, flume, tokio, hyper-util; by default all
# Fails if a test does not pass that is not in suites/not-passed.txt, or if one passes that is; and if that list has become longer, or has a
# line that matches no test any more.
#   MYRIAD_SUITES_SECONDS   how long one test may take (60); twice that when it is repeated alone
#   MYRIAD_SUITES_JOBS      how many run at a time (4 for each processor: most of them sleep)
#   MYRIAD_SUITES_CALLERS   the callers (plain threads fibers)
#   MYRIAD_SUITES_RAYON     the modes of rayon's suite (threads fibers)
#   MYRIAD_SUITES_WRITE=1   writes the table into suites/README.md, and rayon's also into docs/dev/RAYON-INSIDE.md, if nothing has failed
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

declare -A version=([crossbeam]=0.5.17 [rayon]=1.12.0 [async-channel]=2.5.0 [flume]=0.12.0 [tokio]=1.54.1 [hyper-util]=0.1.21)
# So many tests of each may be listed as not passed, and so many may be left out. These numbers only shrink. (rayon's: rayon-suite.sh.)
declare -A may_list=([crossbeam]=2 [async-channel]=2 [flume]=0 [tokio]=11 [hyper-util]=0)
declare -A may_leave_out=([crossbeam]=0 [async-channel]=0 [flume]=2 [tokio]=98 [hyper-util]=0)
root=$PWD
list=$root/suites/not-passed.txt
target=$(realpath -m "${CARGO_TARGET_DIR:-target}/suites")
work=$target/work
export LIMIT=${MYRIAD_SUITES_SECONDS:-60}
jobs=${MYRIAD_SUITES_JOBS:-$((4 * $(nproc)))}
read -ra callers <<<"${MYRIAD_SUITES_CALLERS:-plain threads fibers}"
suites=("$@")
[ $# -gt 0 ] || suites=(crossbeam rayon async-channel flume tokio hyper-util)
for suite in "${suites[@]}"; do
    [ -n "${version[$suite]:-}" ] || {
        echo "suites.sh: there is no suite '$suite'; there are: ${!version[*]}" >&2
        exit 2
    }
done
mkdir -p "$work/fetch/src"
: >"$work/complaints"
failed=0

# complain TEXT: also where variables do not last.
complain() {
    echo "suites.sh: $1" | tee -a "$work/complaints" >&2
}

# Replaces a file if what comes is something else, so that cargo compiles once.
replace() {
    mkdir -p "$(dirname "$1")"
    cat >"$1.new"
    if cmp -s "$1.new" "$1"; then rm "$1.new"; else mv "$1.new" "$1"; fi
}

# The sources, by way of cargo.
replace "$work/fetch/Cargo.toml" <<TOML
[package]
name = "fetch"
version = "0.0.0"
edition = "2021"
[dependencies]
crossbeam-channel = "=${version[crossbeam]}"
async-channel = "=${version[async-channel]}"
flume = "=${version[flume]}"
tokio = "=${version[tokio]}"
hyper-util = "=${version[hyper-util]}"
[workspace]
TOML
: >"$work/fetch/src/lib.rs"
cargo fetch -q --manifest-path "$work/fetch/Cargo.toml" || exit 1
# source_of NAME-VERSION: the folder.
source_of() {
    cargo metadata -q --offline --format-version 1 --manifest-path "$work/fetch/Cargo.toml" |
        grep -o "\"manifest_path\":\"[^\"]*/$1/Cargo.toml\"" | head -n 1 | cut -d'"' -f4 | xargs -r dirname
}

# left_out SUITE FILE: the tests of that file that are left out, by name, or by what they say.
left_out() {
    sed -n "s,^$1 - $2::\([^ ]*\) .*,\1,p" "$list"
}

# tests SUITE FROM TO [SED..]: a file of tests, for all callers.
tests() {
    local suite=$1 from=$2 to=$3 file names texts
    shift 3
    file=$(basename "$to" .rs)
    names=$(left_out "$suite" "$file" | grep -v '^/' | tr '\n' ' ')
    texts=$(left_out "$suite" "$file" | sed -n 's,^/\(.*\)/$,\1,p' | paste -sd '|')
    sed "$@" "$from" | awk -v names=" $names" -v texts="$texts" -f "$root/suites/rewrite.awk" | replace "$to"
    # Each line by itself: one that leaves nothing out goes.
    local one name text
    while read -r one; do
        name=" $one " text=
        [[ $one != /*/ ]] || { name='' text=${one#/} text=${text%/}; }
        sed "$@" "$from" | awk -v names="$name" -v texts="$text" -f "$root/suites/rewrite.awk" | grep '// left out: ' >/dev/null ||
            complain "$suite - $file::$one: no such test is left to be left out: take it off suites/not-passed.txt"
    done < <(left_out "$suite" "$file")
}

# counted SUITE: the list is not longer than it may be, and each file that it names is there.
counted() {
    local suite=$1 file listed without
    listed=$(awk -v suite="$suite" '$1 == suite && $2 != "-"' "$list" | wc -l)
    without=$(grep -rh '// left out: ' "$work/$suite/tests" | wc -l)
    [ "$listed" -le "${may_list[$suite]}" ] || complain "$suite: $listed tests are listed, and ${may_list[$suite]} may be"
    [ "$listed" -ge "${may_list[$suite]}" ] || echo "$suite: $listed tests are listed: set its number, ${may_list[$suite]}, to that"
    [ "$without" -le "${may_leave_out[$suite]}" ] ||
        complain "$suite: $without tests are left out, and ${may_leave_out[$suite]} may be"
    [ "$without" -ge "${may_leave_out[$suite]}" ] ||
        echo "$suite: $without tests are left out: set its number, ${may_leave_out[$suite]}, to that"
    while read -r file; do
        compgen -G "$work/$suite/tests/*/$file.rs" >/dev/null || complain "$suite - $file: there is no such file of tests"
    done < <(sed -n "s,^$suite - \([^:]*\)::.*,\1,p" "$list" | sort -u)
}

# A package of tests: its name, lines for its dependencies, and its edition.
package() {
    mkdir -p "$work/$1/src"
    : >>"$work/$1/src/lib.rs"
    replace "$work/$1/Cargo.toml" <<TOML
[package]
name = "$1-suite"
version = "0.0.0"
edition = "${3:-2021}"
autotests = true
[features]
default = ["std", "async", "select", "eventual-fairness", "sync", "full"]
std = []
async = []
select = []
eventual-fairness = []
sync = []
full = []
[dev-dependencies]
suite-callers = { path = "$root/suites/callers" }
myriad = { path = "$root/crates/myriad", package = "myriad-rt" }
$2
TOML
}

prepare_crossbeam() {
    local source name threads
    source=$(source_of "crossbeam-channel-${version[crossbeam]}")
    package crossbeam "
crossbeam-channel = { path = \"$root/suites/crossbeam-channel\" }
rand = \"0.8\""
    threads='s/^\( *\)use std::thread;/\1use suite_callers::thread;/
        s/use std::thread::JoinHandle;/use suite_callers::thread::JoinHandle;/
        s/use crossbeam_utils::thread::scope;/use suite_callers::thread::scope;/'
    for name in "$source"/tests/*.rs; do
        name=$(basename "$name" .rs)
        if [ "$name" = golang ]; then
            # Apart: it has an allocator of its own. What waits there holds locks, so these are such that know of tasks.
            tests crossbeam "$source/tests/golang.rs" "$work/crossbeam/tests/golang/golang.rs" -e "$threads" \
                -e 's/use std::sync::{Arc, Condvar, Mutex};/use myriad::sync::{Arc, Condvar, Mutex};/'
            echo "mod golang;" | replace "$work/crossbeam/tests/golang/main.rs"
        else
            tests crossbeam "$source/tests/$name.rs" "$work/crossbeam/tests/channels/$name.rs" -e "$threads"
            echo "mod $name;"
        fi
    done | replace "$work/crossbeam/tests/channels/main.rs"
}

prepare_async_channel() {
    local source name
    source=$(source_of "async-channel-${version[async-channel]}")
    package async-channel "
async-channel = { path = \"$root/suites/async-channel\" }
futures-lite = \"2\""
    # A task waits for a future in Myriad's way: the crate's own executor parks the thread, which is a worker's.
    for name in bounded unbounded; do
        tests async-channel "$source/tests/$name.rs" "$work/async-channel/tests/channels/$name.rs" \
            -e 's/use std::thread::sleep;/use suite_callers::thread::sleep;/' \
            -e 's/use easy_parallel::Parallel;/use suite_callers::Parallel;/' \
            -e 's/future::block_on(/suite_callers::block_on(/'
        echo "mod $name;"
    done | replace "$work/async-channel/tests/channels/main.rs"
}

prepare_flume() {
    local source name
    source=$(source_of "flume-${version[flume]}")
    package flume "
flume = { path = \"$root/suites/flume\" }
rand = \"0.8\""
    # (Its mpsc.rs tests crossbeam-channel.)
    for name in array basic check_same_channel iter list zero; do
        tests flume "$source/tests/$name.rs" "$work/flume/tests/channels/$name.rs" \
            -e '/^extern crate crossbeam_utils;/d' \
            -e 's/^\( *\)use std::thread;/\1use suite_callers::thread;/' \
            -e 's/std::thread::\(spawn\|sleep\)/suite_callers::thread::\1/' \
            -e 's/use crossbeam_utils::thread::scope;/use suite_callers::thread::scope;/'
        echo "mod $name;"
    done | replace "$work/flume/tests/channels/main.rs"
}

prepare_tokio() {
    local source name
    source=$(source_of "tokio-${version[tokio]}")
    package tokio "
tokio = { path = \"$root/suites/tokio\" }
tokio-test = \"0.4\"
futures = \"0.3\""
    for name in mutex rwlock semaphore semaphore_owned barrier mpsc oneshot watch broadcast notify; do
        tests tokio "$source/tests/sync_$name.rs" "$work/tokio/tests/sync/$name.rs" \
            -e 's/^use tokio::test as maybe_tokio_test;/use std as _;/' \
            -e '/^mod support {/,/^}/d; /^impl.*\(Permit\|Weak\).*{}$/d; /^impl<T> SenderExt/,/^}/d' \
            -e 's/std::thread::\(spawn\|sleep\)/suite_callers::thread::\1/'
        echo "mod $name;"
    done | replace "$work/tokio/tests/sync/main.rs"
}

# The tests of hyper-util's client and proxies, and of its server and pools, which stand in its modules.
prepare_hyper_util() {
    local source to=$work/hyper-util/tests/http name from file
    source=$(source_of "hyper-util-${version[hyper-util]}")
    package hyper-util "
tokio = { package = \"suite-hyper-util\", path = \"$root/suites/hyper-util\" }
hyper-util = { version = \"=${version[hyper-util]}\", features = [\"full\"] }
hyper = { version = \"1\", features = [\"full\"] }
http = \"1\"
http-body = \"1\"
http-body-util = \"0.1\"
futures-channel = \"0.3\"
futures-util = \"0.3\"
tokio-test = \"0.4\"
tower-layer = \"0.3\"
tower-service = \"0.3\"
tower-test = \"0.4\"" 2024
    # Tasks, timers and sockets are Myriad's, also those of the tests' own servers, which block. No test asks the network for a name.
    local runtime='s/\(hyper_util::rt::\)*TokioExecutor::new()/myriad::hyper::Executor/
        s/Client::builder(myriad::hyper::Executor)/&.timer(myriad::hyper::Timer).pool_timer(myriad::hyper::Timer)/
        s/use hyper_util::client::legacy::connect::HttpConnector;/use tokio::HttpConnector;/
        s/use hyper_util::client::legacy::connect::{HttpConnector, /use tokio::HttpConnector; use hyper_util::client::legacy::connect::{/
        s/TokioIo<TcpStream>/tokio::SocketIo/
        s/TokioIo::new(\(stream\|TcpStream\)/tokio::SocketIo::new(\1/
        s/^use std::net::{SocketAddr, TcpListener};/use myriad::net::TcpListener; use std::net::SocketAddr;/
        s/std::sync::mpsc::channel::/myriad::channel::unbounded::/
        s/^use std::thread;/use suite_callers::thread;/
        /fn test_socks_v5_with_locally_resolved_domain_works/,/^}/s/hyper\.rs/localhost/
        /^ *let _ = pretty_env_logger::/d; /^#!*\[cfg(.*feature = /d'
    sed "$runtime" "$source/tests/test_utils/mod.rs" | replace "$to/test_utils.rs"
    {
        echo "mod test_utils;"
        for name in legacy_client proxy; do
            tests hyper-util "$source/tests/$name.rs" "$to/$name.rs" -e "$runtime" \
                -e 's/^mod test_utils;/use crate::test_utils;/; s/crate::Mock/self::Mock/'
            echo "mod $name;"
        done
        # Those in modules, as if they stood outside: what they use of the module is public.
        for name in server::conn::auto client::pool::cache client::pool::singleton; do
            from=$source/src/${name//:://}
            [ ! -d "$from" ] || from=$from/mod
            file=$work/hyper-util/modules/${name##*:}.rs
            sed -n '/^mod tests {/,/^}/{ /^mod tests {/d; /^}/d; s/^    //; p }' "$from.rs" |
                sed "s/super::/hyper_util::$name::/; s/^use crate::/use hyper_util::/" | replace "$file"
            tests hyper-util "$file" "$to/${name##*:}.rs" -e "$runtime"
            echo "mod ${name##*:};"
        done
    } | replace "$to/main.rs"
}

# Compiles all suites together: each on its own would have its own features, and other builds of what they share. (Not optimised: with
# opt-level 1 the tests took as long, 235 s.)
build() {
    local suite packages=()
    for suite in "$@"; do packages+=(-p "$suite-suite"); done
    if ! (cd "$work" && CARGO_TARGET_DIR=$target RUSTFLAGS="${RUSTFLAGS:-} --cap-lints=allow" \
        cargo test --no-run "${packages[@]}" --message-format=json-render-diagnostics >"$work/built" 2>"$work/build"); then
        cat "$work/build" >&2
        return 1
    fi
}

# The programs of a suite, compiled.
programs() {
    sed -n "s,.*\"manifest_path\":\"$work/$1/Cargo.toml\"\,\"target\":{\"kind\":\[\"test\"\].*\"executable\":\"\([^\"]*\)\".*,\1,p" "$work/built"
}

# one LIMIT CALLER PROGRAM TEST SUITE: a line with the verdict.
one() {
    local limit=$1
    shift
    local log status start=$EPOCHREALTIME
    log=$(mktemp)
    # (In a shell of its own, which says nothing of a kill.)
    (MYRIAD_SUITE_CALLER=$1 timeout --kill-after=5 "$limit" "$2" --exact "$3" --test-threads=1 </dev/null >"$log" 2>&1) 2>/dev/null
    status=$?
    local verdict=failed
    if [ "$status" -eq 0 ] && grep -q '^test result: ok. 1 passed' "$log"; then
        verdict=passed
    elif [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        verdict=hung
    elif [ "$status" -eq 0 ] && grep -q '^test .*\.\.\. ignored' "$log"; then
        verdict=ignored
    fi
    echo "$verdict $1 $2 $3 $((${EPOCHREALTIME/./} / 1000 - ${start/./} / 1000)) $4"
    [ "$verdict" = passed ] || cp "$log" "$LOGS/$4.$1.${3//:/_}"
    rm "$log"
}
export -f one

# is_listed SUITE CALLER TEST
is_listed() {
    awk -v suite="$1" -v caller="$2" -v test="$3" '
        $1 == suite && ($2 == "*" || index("," $2 ",", "," caller ",")) && $3 == test { found = 1 }
        END { exit !found }' "$list"
}

: >"$work/table"
# row SUITE CALLER TESTS PASSED LISTED LEFT-OUT SECONDS
row() {
    echo "$*" >>"$work/table"
}

# tests_of SUITE: a line for each test and caller.
tests_of() {
    local suite=$1 caller program name limit built
    built=$(programs "$suite")
    [ -n "$built" ] || complain "$suite: there is no program"
    for program in $built; do
        "$program" --list --format terse 2>/dev/null | sed -n 's/: test$//p' | while read -r name; do
            for caller in "${callers[@]}"; do
                # (Some of those that do not pass would wait for ever.)
                limit=$LIMIT
                ! is_listed "$suite" "$caller" "$name" || limit=10
                echo "$limit $caller $program $name $suite"
            done
        done
    done
}

# run SUITE..: with all callers, all at once: most of the tests sleep. Those that take longest come first.
run() {
    local suite
    export LOGS=$work/logs
    rm -rf "$LOGS"
    mkdir -p "$LOGS"
    for suite in "$@"; do tests_of "$suite"; done >"$work/all"
    # shellcheck disable=SC2016
    { grep "$longest" "$work/all"; grep -v "$longest" "$work/all"; } | xargs -P "$jobs" -L 1 bash -c 'one "$@"' one >"$work/results"
    for suite in "$@"; do judge "$suite"; done
}
longest='golang\|loop_try\|stress\|linearizable\|drops\|fairness'

# judge SUITE: what has become of its tests.
judge() {
    local suite=$1 caller program name verdict milliseconds passed listed all time again tries without
    without=$(grep -rh '// left out: ' "$work/$suite/tests" | wc -l)
    while read -r name; do
        grep -q "^[a-z]* [a-z]* [^ ]* $name [0-9]* $suite\$" "$work/results" ||
            complain "$suite: there is no test $name: take it off suites/not-passed.txt"
    done < <(awk -v suite="$suite" '$1 == suite && $2 != "-" { print $3 }' "$list")
    for caller in "${callers[@]}"; do
        time=0 passed=0 listed=0 all=0
        while read -r verdict _ program name milliseconds _; do
            all=$((all + 1)) time=$((time + milliseconds))
            if is_listed "$suite" "$caller" "$name"; then
                listed=$((listed + 1))
                if [ "$verdict" = passed ]; then
                    echo "$suite, $caller: $name has passed: take it off suites/not-passed.txt" >&2
                    failed=1
                fi
                continue
            fi
            again=
            if [ "$verdict" = failed ] || [ "$verdict" = hung ]; then
                # Many have limits of some milliseconds, and others ran beside it.
                again=" ($verdict beside others after $milliseconds ms)"
                for ((tries = 0; tries < 3; tries++)); do
                    read -r verdict _ _ _ milliseconds _ < <(one $((2 * LIMIT)) "$caller" "$program" "$name" "$suite")
                    [ "$verdict" = failed ] || break
                done
            fi
            if [ "$verdict" = passed ]; then
                passed=$((passed + 1))
                [ -z "$again" ] || echo "$suite, $caller: $name passed alone$again"
            else
                echo "FAILED: $suite $caller $name: $verdict after $milliseconds ms, see $LOGS" >&2
                tail -n 12 "$LOGS/$suite.$caller.${name//:/_}" >&2
                failed=1
            fi
        done < <(awk -v suite="$suite" -v caller="$caller" '$6 == suite && $2 == caller' "$work/results")
        row "$suite" "$caller" "$all" "$passed" "$listed" "$without" $((time / 1000))
    done
}

# rayon's has a script of its own: its tests know nothing of callers, and run on the global pool.
run_rayon() {
    local mode start summary
    for mode in ${MYRIAD_SUITES_RAYON:-threads fibers}; do
        start=$SECONDS
        scripts/rayon-suite.sh "$mode" | tee "$work/rayon.$mode" || failed=1
        summary=$(sed -n 's/^rayon .*: \([0-9]*\) of \([0-9]*\) tests passed, \([0-9]*\) are on the list$/\2 \1 \3/p' "$work/rayon.$mode")
        # shellcheck disable=SC2086
        row rayon "$mode" ${summary:-0 0 0} - $((SECONDS - start))
    done
}

replace "$work/Cargo.toml" <<TOML
[workspace]
resolver = "2"
members = [$(for suite in "${suites[@]}"; do [ "$suite" = rayon ] || printf '"%s", ' "$suite"; done)]
# (Not by a line for all packages: that would be macros and build scripts too, and these take a minute.)
[profile.dev]
opt-level = 1
debug = 0
incremental = false
lto = "off"
TOML
# First all: cargo wants each member of the workspace.
for suite in "${suites[@]}"; do
    [ "$suite" = rayon ] || "prepare_${suite//-/_}" || exit 1
done
others=()
for suite in "${suites[@]}"; do
    if [ "$suite" = rayon ]; then run_rayon; else others+=("$suite"); fi
done
if [ ${#others[@]} -gt 0 ]; then
    for suite in "${others[@]}"; do counted "$suite"; done
    start=$SECONDS
    if build "${others[@]}"; then
        echo "built in $((SECONDS - start)) s"
        start=$SECONDS
        run "${others[@]}"
        echo "run in $((SECONDS - start)) s"
    else
        failed=1
    fi
fi
[ ! -s "$work/complaints" ] || failed=1

# The table: a line for each suite and caller.
lines() {
    local suite caller all passed listed without seconds
    while read -r suite caller all passed listed without seconds; do
        # shellcheck disable=SC2059
        printf "$1" "$suite ${version[$suite]}" "$caller" "$all" "$passed" "$listed" "$without" "$seconds"
    done <"$work/table"
}
echo
printf '%-22s %-8s %6s %7s %7s %9s %8s\n' suite caller tests passed listed 'left out' seconds
lines '%-22s %-8s %6s %7s %7s %9s %8s\n'
if [ -n "${MYRIAD_SUITES_WRITE:-}" ] && [ "$failed" -eq 0 ]; then
    # Rows of suites that did not run now stay as they are.
    lines '| %s | %s | %s | %s | %s | %s |%.0s\n' >"$work/rows"
    {
        cat "$work/rows"
        sed -n '/<!-- table -->/,/<!-- \/table -->/{/^| [a-z-]* [0-9]/p}' suites/README.md
    } | awk -F '|' '!seen[$2 $3]++' | sort -t '|' -k 2,2 -k 3,3r >"$work/all-rows"
    sed -i -e '/<!-- table -->/,/<!-- \/table -->/{/^| [a-z-]* [0-9]/d}' -e "/^|---|---|---|---|---|---|\$/r $work/all-rows" suites/README.md
fi
exit "$failed"
