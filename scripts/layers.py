#!/usr/bin/env python3
"""Floors: a folder of the engine uses only those below it. Fails on any arrow that the table does not allow.

Doors: panics are caught, wakers called and users' values dropped in the door for user code, and where `CAUGHT` and `WOKEN` say why not.
Names: a name of a type stands once in a crate, so that who reads it knows what it is. Seams: time and chance come through
`myriad_base::sys::{clock, choice}`. Locks: a thread's lock is `myriad_base::sys::mutex`.

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
        "sys": "lock pieces stack",  # what is locked for a fork
        "unwind": "sys",
        "lock": "sys",
        "stack": "sys",
        "wheel": "",
        "blocks": "",
        "pieces": "sys",
        "hash": "",
        "ref_count": "sys",
        "platform": "sys stack",
        "lib": "blocks hash lock pieces platform ref_count stack sys unwind wheel",
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
    "jobs": {
        "machine": "",
        "local": "machine",
        "command": "local machine",
        "schedule": "machine",
        "series": "local machine schedule",
        "share": "",
        "lib": "command local machine schedule series share",
    },
    "io": {
        "socket": "",
        "reactor": "socket",
        "source": "reactor socket",
        "net": "source",
        "io": "net source",
        "lib": "",
    },
    "flow": {
        "one_by_one": "",
        "panic": "",
        "per_worker": "one_by_one",
        "protocol": "",
        "stored": "",
        "view": "",
        "graph": "one_by_one panic protocol view",
        "region": "graph",
        "dataflow": "graph one_by_one protocol stored",
        "ops": "panic",
        "process": "ops panic view",
        "lib": "dataflow graph ops per_worker process region",
    },
}
# The most files that may be in one cycle. It only shrinks.
LARGEST = {"base": 0, "core": 23, "jobs": 7, "io": 5, "flow": 11}

# Of each crate the names of types that stand there more than once, and how often at most. These numbers only shrink; a name that is not
# here stands once. Of `base` not at all: its types have a twin for models, or for a system. Public pairs as `Builder` stay.
SEVERAL = {
    "core": {"Builder": 2},
    "sync": {"Iter": 2},
}
NAMED = ["actor", "agent", "capi", "cli", "core", "flow", "foreign", "hyper", "io", "jobs", "myriad", "par", "rayon-core", "sync", "task"]
# The private half of a sealed trait is called so everywhere.
EVERYWHERE = {"Sealed"}

# What is read, or slept, past the seams of time and chance; and in which crates.
PAST_SEAMS = re.compile(r"\b(?:Instant::now|SystemTime|_rdtsc|park_timeout|thread::sleep|RandomState::new)\b|\.wait_timeout(?:_while)?\(")
SEAMED = ["base", "core", "jobs", "task", "sync", "par", "actor", "agent", "flow", "io", "hyper"]
# Where that is right: the seams themselves, and what they say of themselves.
SEAMS = {
    "base": {"sys/clock", "sys/clock/system", "sys/choice", "sys/choice/ticks", "sys/futex"},
    "sync": {"shared/map", "lock/single_flight"},  # the keys of a hash table
    "jobs": {"local/edit", "local/job"},  # times of day, which a person gives
    "hyper": {"rt"},  # hyper's times are std's
}

# std's locks have poison: a thread's lock is `myriad_base::sys::mutex`, which stands on them.
STD_LOCKS = {"std::sync::" + lock for lock in ("Mutex", "MutexGuard", "Condvar", "RwLock", "RwLockReadGuard", "RwLockWriteGuard")}
LOCKED = ["base", "core", "jobs", "task", "sync", "par", "actor", "agent", "flow", "io", "hyper"]
LOCKS = {"base": {"sys/mutex"}}

# How user code is called past its door, `sched/user_code.rs`: a plain catch, a bare waker, a value dropped in place.
PAST_DOOR = re.compile(r"\bcatch_unwind\b|\bunwind::catch\(|\.wake_by_ref\(\)|\bptr::drop_in_place\(|\bassume_init_drop\(|(?:Option<|: )Waker\b")
# What the calling task is there for: `user_code::body`.
BODY = re.compile(r"\buser_code::body\(")
DOORED = ["actor", "agent", "core", "flow", "task", "sync", "par", "rayon-core", "capi", "foreign"]
# Where that is right, how often, and why. These numbers only shrink.
CAUGHT = {
    "actor": {},
    "agent": {},
    "flow": {},
    "core": {
        "sched/user_code": (3, "the door: a body, a call, a drop in place"),
        "sched/user_code/alone": (1, "the door, where no task runs"),
        "sched/user_code/stored": (1, "the door: takes a waker to keep it"),
        "sched/wait/caller": (1, "a poll that wakes its own task, with the waker of its caller, which it holds as any future does"),
        "api/pair": (3, "waits of the engine, out of which the panic of a joined task goes on"),
        "api/scope/end": (1, "a cancellation that arrives in the owner, who has a value in hand"),
        "api/try_scope": (1, "the end of the scope, out of which a panic goes on"),
        "api/spawn": (1, "the start of the global runtime, which may panic"),
    },
    "task": {
        "local_scope": (1, "a local task's waker is the scope's own, a `Signal`"),
    },
    "sync": {},
    "par": {
        "sort/cached": (1, "keys that were made before a key function panicked, in its own frame, as of a `Vec` there"),
    },
    "rayon-core": {
        "user_code": (1, "the body of a job, which is what its task or thread is there for"),
        "own/latch": (1, "the wait itself, of a shielded task, which must end whatever happens"),
    },
    "capi": {
        "error": (1, "a call of the interface, out of which no panic may go into a program in C"),
    },
    "foreign": {},
}
# Who runs bodies, and how often.
BODIES = {
    "actor": {"cell": 1, "control": 1, "server/turn": 2, "supervisor/child": 1, "task": 3},
    "agent": {"run": 2, "turn": 1},
    "flow": {"dataflow/node": 1, "dataflow/time_limits": 1, "graph/limits": 2, "graph/run": 1, "ops/ended": 1, "ops/line": 2, "ops/line_async": 2, "process/body": 6, "process/recovery": 1},
    "core": {
        "api/blocking/mod": 1, "api/future": 2, "api/pair": 4, "api/scope": 1, "api/scope/job": 1, "api/spawn": 1, "api/time/timeout": 1, "api/token": 1,
        "api/try_scope": 3, "api/until": 1, "sched/cancel/mod": 1, "sched/context/inherit": 1, "sched/context/mod": 1, "sched/context/relocated": 1,
    },
    "task": {"local_scope": 3, "map_concurrent": 2},
    "sync": {},
    "par": {"failures": 1},
    "rayon-core": {"broadcast": 1, "own/detached": 1, "own/job": 1, "own/mod": 1, "scope": 2, "shared": 1},
    "capi": {},
    "foreign": {},
}


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


def sources(name):
    """The product files of a crate: (path from `src` without the ending, code)."""
    source = ROOT / name / "src"
    for path in sorted(source.rglob("*.rs")):
        if path.stem not in ("test", "figures", "facts"):
            yield path.relative_to(source).with_suffix("").as_posix(), code(path.read_text())


def check_names():
    """Says which types of a crate have the same name. How many are too many."""
    wrong = 0
    declared = re.compile(r"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:unsafe\s+)?(?:struct|enum|union|trait)\s+(\w+)", re.M)
    for name in NAMED:
        found = {}
        for file, text in sources(name):
            for found_name in declared.findall(text):
                found.setdefault(found_name, []).append(file)
        for type_name, files in sorted(found.items()):
            most = SEVERAL.get(name, {}).get(type_name, 1)
            if len(files) > most and type_name not in EVERYWHERE:
                wrong += 1
                print(f"{name}: {len(files)} types are called {type_name}: {', '.join(files)}")
        for type_name, most in SEVERAL.get(name, {}).items():
            if len(found.get(type_name, [])) < most:
                print(f"{name}: {len(found.get(type_name, []))} types are called {type_name}: set its number, {most}, to that")
    return wrong


def check_seams():
    """Says where time or chance comes past the seams. How often."""
    wrong = 0
    for name in SEAMED:
        for file, text in sources(name):
            if file in SEAMS.get(name, set()):
                continue
            for found in PAST_SEAMS.finditer(text):
                wrong += 1
                print(f"{name}: {file} has `{found.group(0)}`: time and chance come through `myriad_base::sys::{{clock, choice}}`")
    return wrong


def check_locks():
    """Says where std's locks are used. How often."""
    wrong = 0
    for name in LOCKED:
        for file, text in sources(name):
            if file in LOCKS.get(name, set()):
                continue
            paths = {path for tree in re.findall(r"\buse\s+([^;]+);", text) for path in leaves(tree)}
            paths.update(re.findall(r"\bstd(?:::\w+)+", text))
            # `use std::sync;`, and then `sync::Mutex`
            paths.update("std::" + path for path in re.findall(r"(?<![\w:])sync::\w+", text) if "std::sync" in paths)
            for path in sorted(paths & STD_LOCKS):
                wrong += 1
                print(f"{name}: {file} has `{path}`: a thread's lock is `myriad_base::sys::mutex`, without poison")
    return wrong


def check_doors():
    """Says where user code is called past its door. How often."""
    wrong = 0
    for name in DOORED:
        allowed = {file: most for file, (most, _) in CAUGHT[name].items()}
        for pattern, table in ((PAST_DOOR, allowed), (BODY, BODIES[name])):
            seen = {}
            for file, text in sources(name):
                found = pattern.findall(text)
                seen[file] = len(found)
                if len(found) > table.get(file, 0):
                    wrong += 1
                    print(f"{name}: {file} has {', '.join(sorted(set(found)))}, {len(found)} in all: user code goes through `sched/user_code.rs`")
            for file, most in table.items():
                if seen.get(file, 0) < most:
                    wrong += 1
                    print(f"{name}: {file} calls user code {seen.get(file, 0)} times past its door: set its number, {most}, to that")
    return wrong


def main():
    sys.setrecursionlimit(10_000)
    show = sys.argv[1:]
    wrong = check_names() + check_seams() + check_locks() + check_doors()
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
        sys.exit(f"layers.py: {wrong} arrows, cycles, names, seams, locks or doors that are not allowed")


main()
