#!/usr/bin/env python3
"""Floors: a folder of the engine uses only those below it. Fails on any arrow that the table does not allow.

    scripts/layers.py             check
    scripts/layers.py --arrows    print each arrow between folders, with its number of files
    scripts/layers.py --cycles    print the files of each cycle

An arrow is an import or a path expression (`crate::..`, `super::..`) outside of tests. A re-export counts as the file in which it stands,
so files inside do not use the crate's own `lib.rs`.
"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent / "crates"

# Of each crate its folders, and files beside `lib.rs`, with those that each may use. `lib` is `lib.rs`.
ALLOWED = {
    "base": {
        "sys": "lock stack",  # what is locked for a fork
        "unwind": "sys",
        "lock": "sys",
        "stack": "sys",
        "wheel": "",
        "platform": "sys stack",
        "lib": "lock platform stack sys unwind wheel",
    },
    "core": {
        "record": "",
        "queue": "record",
        "sched": "queue record",
        "runtime": "sched queue record",
        "api": "runtime sched queue record",
        "cancel": "api sched",
        "engine": "api runtime sched queue",
        "lib": "api runtime sched queue record cancel engine",
    },
}
# The most files that may be in one cycle. It only shrinks.
LARGEST = {"base": 0, "core": 41}


def code(text):
    """The source without comments, strings, characters, and what is there for tests only."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|b?r(#*)".*?"\1|b?"(?:\\.|[^"\\])*"|b?\'(?:\\.|[^\'\\])\'', re.S)
    text = token.sub(lambda found: " " if found.group(0).startswith("/") else '""', text)
    pieces, at = [], 0
    tests = r"#\[cfg\([^\]]*\btest\b[^\]]*\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(?:mod|use|fn)\b[^;{]*"
    for found in re.finditer(tests, text):
        if found.start() < at:
            continue
        pieces.append(text[at : found.start()])
        at = found.end()
        depth = 0
        while text[at] == "{" or depth > 0:
            depth += {"{": 1, "}": -1}.get(text[at], 0)
            at += 1
            if depth == 0:
                break
    pieces.append(text[at:])
    return "".join(pieces)


def leaves(tree):
    """The paths of a `use` tree: `a::{b, c::{d, e}}` has a::b, a::c::d, a::c::e."""
    tree = tree.strip()
    if "{" not in tree:
        return [re.sub(r"\s+as\s+\w+$", "", tree).replace(" ", "")]
    head, rest = tree.split("{", 1)
    found, part, depth = [], "", 0
    for char in rest[: rest.rindex("}")] + ",":
        depth += {"{": 1, "}": -1}.get(char, 0)
        if char == "," and depth == 0:
            if part.strip():
                found += [head.replace(" ", "") + leaf for leaf in leaves(part)]
            part = ""
        else:
            part += char
    return found


class Crate:
    """The files of a crate, by their modules' paths, and which files each uses."""

    def __init__(self, name):
        source = ROOT / name / "src"
        self.files = {}
        for path in sorted(source.rglob("*.rs")):
            parts = path.relative_to(source).with_suffix("").parts
            if parts[-1] not in ("test", "figures", "facts"):
                self.files[parts[:-1] if parts[-1] in ("mod", "lib") else parts] = code(path.read_text())
        self.uses = {module: self.used(module, text) for module, text in self.files.items()}

    def used(self, module, text):
        paths = {path for tree in re.findall(r"\buse\s+([^;]+);", text) for path in leaves(tree)}
        paths.update(re.findall(r"(?<!\$)\b(?:crate|super|self)(?:::\w+)+", text))
        found = set()
        for path in paths:
            parts, base = path.split("::"), module
            if parts[0] == "crate":
                base, parts = (), parts[1:]
            elif parts[0] in ("super", "self"):
                while parts and parts[0] in ("super", "self"):
                    base = base[:-1] if parts[0] == "super" else base
                    parts = parts[1:]
            elif module + (parts[0],) not in self.files:
                continue  # another crate's, or an item of this file
            target = base + tuple(part for part in parts if part not in ("self", "*"))
            while target not in self.files:
                target = target[:-1]
            found.add(target)
        return found - {module}


def cycles(graph):
    """Sets of files that all reach each other, largest first (Tarjan)."""
    number, low, stack, found = {}, {}, [], []

    def visit(at):
        number[at] = low[at] = len(number)
        stack.append(at)
        for to in sorted(graph[at]):
            if to not in number:
                visit(to)
            if to in stack:
                low[at] = min(low[at], low[to])
        if low[at] == number[at]:
            cut = stack.index(at)
            part, stack[cut:] = stack[cut:], []
            if len(part) > 1:
                found.append(sorted(part))

    for module in sorted(graph):
        if module not in number:
            visit(module)
    return sorted(found, key=len, reverse=True)


def main():
    sys.setrecursionlimit(10_000)
    show, wrong = sys.argv[1:], 0
    for name, table in ALLOWED.items():
        crate, arrows = Crate(name), Counter()
        for module, uses in crate.uses.items():
            for to in uses:
                here, there = (module or ("lib",))[0], (to or ("lib",))[0]
                if here == there:
                    continue
                arrows[here, there] += 1
                if there not in table.get(here, "").split():
                    wrong += 1
                    print(f"{name}: {'/'.join(module) or 'lib'} uses {'/'.join(to) or 'lib'}: {here} stands below {there}, or beside it")
        graph = {module: {to for to in uses if to} for module, uses in crate.uses.items() if module}
        parts = cycles(graph)
        largest = len(parts[0]) if parts else 0
        if "--arrows" in show:
            for (here, there), files in sorted(arrows.items()):
                print(f"{name}: {here} -> {there}: {files}")
        if "--cycles" in show:
            for part in parts:
                print(f"{name}: {len(part)} files: {' '.join('/'.join(module) for module in part)}")
        if largest > LARGEST[name]:
            wrong += 1
            print(f"{name}: {largest} files are one cycle, and were {LARGEST[name]}: see --cycles")
        print(f"{name}: {len(crate.files)} files, {sum(arrows.values())} arrows between folders, largest cycle {largest} files")
    if wrong:
        sys.exit(f"layers.py: {wrong} arrows or cycles that are not allowed")


main()
