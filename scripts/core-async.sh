#!/usr/bin/env bash
# The situations in which a model of core.async goes wrong most easily, on core.async itself: compares what comes out with the table
# crates/myriad/tests/flow/as_core_async/outcomes.txt, with which as_core_async.rs compares Myriad. Needs Java and the jars of
# core.async (Debian: libcore-async-clojure), or their list in CORE_ASYNC_CLASSPATH. Ends with 77 without.
set -euo pipefail
cd "$(dirname "$0")/../crates/myriad/tests/flow/as_core_async"

jars=()
for name in clojure core.async tools.analyzer.jvm tools.analyzer core.memoize core.cache data.priority-map asm; do
    jars+=("/usr/share/java/$name.jar")
done
classpath=${CORE_ASYNC_CLASSPATH:-$(IFS=:; echo "${jars[*]}")}
IFS=: read -ra jars <<<"$classpath"
command -v java >/dev/null || { echo "core-async.sh: there is no Java" >&2; exit 77; }
for jar in "${jars[@]}"; do
    [ -f "$jar" ] || { echo "core-async.sh: $jar is not there" >&2; exit 77; }
done
there=$(java -cp "$classpath" clojure.main situations.clj)
table=$(grep -v '^#' outcomes.txt | awk -F' *[|] *' '{ print $1 " " $3 }')
if ! diff <(echo "$table") <(echo "$there"); then
    echo "core-async.sh: < is the table, > is core.async" >&2
    exit 1
fi
differ=$(grep -v '^#' outcomes.txt | awk -F' *[|] *' 'NF > 3' | wc -l)
echo "$(echo "$there" | wc -l) situations come out as the table says; Myriad differs in $differ of them, on purpose"
