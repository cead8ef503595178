#!/usr/bin/env bash
# The situations in which a model of Clojure's agents goes wrong most easily, on Clojure itself: compares what comes out with the table
# crates/myriad/tests/agents/as_clojure/outcomes.txt, with which as_clojure.rs compares Myriad. Needs Java and Clojure's jar (Debian:
# clojure), or its list in CLOJURE_CLASSPATH. Ends with 77 without.
set -euo pipefail
cd "$(dirname "$0")/../crates/myriad/tests/agents/as_clojure"

classpath=${CLOJURE_CLASSPATH:-/usr/share/java/clojure.jar}
IFS=: read -ra jars <<<"$classpath"
command -v java >/dev/null || { echo "clojure-agents.sh: there is no Java" >&2; exit 77; }
for jar in "${jars[@]}"; do
    [ -f "$jar" ] || { echo "clojure-agents.sh: $jar is not there" >&2; exit 77; }
done
../../common/table.sh Clojure outcomes.txt <(java -cp "$classpath" clojure.main situations.clj)
