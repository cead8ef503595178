#!/usr/bin/env python3
"""Comments in Rust code: unsafe blocks whose argument a reader can check, and lines that fit beside each other.

    scripts/comments.py          check
    scripts/comments.py --list   print each finding, also those that are allowed

Of a safety comment: one that says no more than "the caller" or "as above" is no argument; it names the condition that it uses.

Of a line: at most 100 columns, where there is something to break. Not of what stands in a fence of documentation (code, pictures), in a
table, or in a comment that is code; nor of a line without a blank to break at, as a link or a rule.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 100

# Of each folder, how many safety comments without an argument it may have. These numbers only shrink; a folder that is not here has none.
WITHOUT_ARGUMENT = {"crates/core": 18}

COMMENT = re.compile(r"\s*(//[/!]?)(?: (.*))?$")
# The line says this, and nothing more.
EMPTY = re.compile(r"SAFETY: (the caller|as above|as there|see above)[.;]?$", re.IGNORECASE)
FENCE = re.compile(r"\s*(```|~~~)")


def comments(text):
    """Each block of comment lines of one kind: [(number of the line, the line, the kind, what it says)]."""
    block = []
    for number, line in enumerate(text.split("\n"), 1):
        found = COMMENT.match(line)
        if not found or (block and found[1] != block[-1][2]):
            if block:
                yield block
            block = []
        if found:
            block.append((number, line, found[1], found[2] or ""))
    if block:
        yield block


def without_argument(block):
    """The lines of safety comments that say no more than who knows the argument."""
    for number, _, _, says in block:
        if EMPTY.match(says.strip()):
            yield number


def too_long(block):
    """The lines that should be broken."""
    in_fence = False
    for number, line, _, says in block:
        if FENCE.match(says):
            in_fence = not in_fence
            continue
        says = says.strip()
        if len(line) > COLUMNS and not in_fence and not says.startswith("|") and " " in says:
            yield number


def main():
    listed = sys.argv[1:] == ["--list"]
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True)
    arguments, long = {}, []
    for name in sorted(names.stdout.split()):
        path = ROOT / name
        if not path.exists():
            continue
        for block in comments(path.read_text(encoding="utf-8")):
            arguments.setdefault("/".join(name.split("/")[:2]), []).extend(f"{name}:{n}" for n in without_argument(block))
            long.extend(f"{name}:{n}" for n in too_long(block))
    failed = False
    for folder, places in sorted(arguments.items()):
        allowed = WITHOUT_ARGUMENT.get(folder, 0)
        if listed or len(places) > allowed:
            print("".join(f"{place}: a safety comment without an argument\n" for place in places), end="")
        if len(places) > allowed:
            print(f"{folder} has {len(places)} safety comments that only point elsewhere, and may have {allowed}")
            failed = True
        elif len(places) < allowed:
            print(f"{folder} has {len(places)} safety comments that only point elsewhere: set its number, {allowed}, to that")
    for place in long:
        print(f"{place}: a comment of more than {COLUMNS} columns")
    sys.exit(failed or bool(long))


main()
