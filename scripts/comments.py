#!/usr/bin/env python3
"""Comments in Rust code: unsafe blocks whose argument a reader can check, and lines that fit beside each other.

    scripts/comments.py   check

Of a safety comment: one that says no more than "the caller" or "as above" is no argument; it names the condition that it uses.

A heading of a section stands alone in its line: what rustfmt has joined to it is no text any more.

A string has no run of blanks where a line break was: a lost backslash shows in a message.

Of a line: at most 100 columns, where there is something to break, and at most 120 in what cannot be broken there: a fence of
documentation (code, pictures) and a table. Not of a comment that is code, nor of a line without a blank to break at, as a link or a rule.
"""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = 100
WIDEST = 120

COMMENT = re.compile(r"\s*(//[/!]?)(?: (.*))?$")
# The line says this, and nothing more.
EMPTY = re.compile(r"SAFETY: (the caller|as above|as there|see above|likewise|the same)[.;]?$", re.IGNORECASE)
# A section's heading with text behind it.
JOINED = re.compile(r"# (Blocking|Cancellation|Complexity|Errors|Examples|Panics|Safety) \S")
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


# A string that was broken by a backslash, which is lost.
LOST = re.compile(r'"[^"]*(?<!\\)[a-z,;(] {13,}[a-z(]')


def joined_headings(block):
    """The lines in which a section's text stands in its heading."""
    for number, _, kind, says in block:
        if kind != "//" and JOINED.match(says):
            yield number


def too_long(block):
    """The lines that should be broken."""
    in_fence = False
    for number, line, _, says in block:
        if FENCE.match(says):
            in_fence = not in_fence
            continue
        says = says.strip()
        columns = WIDEST if in_fence or says.startswith("|") else COLUMNS
        if len(line) > columns and " " in says:
            yield number


def main():
    names = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.rs"], cwd=ROOT, capture_output=True, text=True, check=True)
    arguments, headings, strings, long = [], [], [], []
    for name in sorted(names.stdout.split()):
        path = ROOT / name
        if not path.exists():
            continue
        text = path.read_text(encoding="utf-8")
        strings.extend(f"{name}:{n}" for n, line in enumerate(text.split("\n"), 1) if len(line) > WIDEST and LOST.search(line))
        for block in comments(text):
            arguments.extend(f"{name}:{n}" for n in without_argument(block))
            headings.extend(f"{name}:{n}" for n in joined_headings(block))
            long.extend(f"{name}:{n}" for n in too_long(block))
    for place in arguments:
        print(f"{place}: a safety comment that only points elsewhere")
    for place in headings:
        print(f"{place}: a heading with text behind it")
    for place in strings:
        print(f"{place}: a run of blanks in a string: has a line break lost its `\\`?")
    for place in long:
        print(f"{place}: a comment of more than {COLUMNS} columns ({WIDEST} in a table or a picture)")
    sys.exit(bool(arguments or headings or strings or long))


main()
