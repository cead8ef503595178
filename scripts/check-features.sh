#!/usr/bin/env bash
# Each test that the documents name is there: `file.rs::name` in docs/*.md and docs/dev/*.md, and the further names of the same list, as in
# `file.rs::one`, `two`, `…_three`. Files without a path are those of crates/myriad/tests.
set -euo pipefail
cd "$(dirname "$0")/.."

exec python3 - docs/*.md docs/dev/*.md README.md CONTRIBUTING.md <<'PY'
import os, re, sys

texts = {}
for top, _, files in os.walk("crates"):
    for file in files:
        if file.endswith(".rs"):
            path = os.path.join(top, file)
            with open(path, encoding="utf-8") as f:
                texts[path] = f.read()

def find(file):
    if file in texts:
        return [file]
    exact = os.path.join("crates/myriad/tests", file)
    return [exact] if exact in texts else [path for path in texts if path.endswith("/" + file)]

named, missing = 0, []
for document in sys.argv[1:]:
    with open(document, encoding="utf-8") as f:
        lines = f.read().split("\n")
    for number, line in enumerate(lines, 1):
        # A list: a file with a test, then names that are separated by commas.
        for item in re.finditer(r"`([\w./-]+\.rs)::(…?\w+)`((?:, `…?\w+`)*)", line):
            file, first, rest = item.groups()
            where = find(file)
            if not where:
                missing.append(f"{document}:{number}: no file {file}")
                continue
            for name in [first] + re.findall(r"`(…?\w+)`", rest):
                named += 1
                pattern = rf"fn {name}\b" if name[0] != "…" else rf"fn \w*{name[1:]}\b"
                if not any(re.search(pattern, texts[path]) for path in where):
                    missing.append(f"{document}:{number}: no test {name} in {file}")

print("\n".join(missing) or f"all {named} tests that the documents name are there")
sys.exit(bool(missing))
PY
