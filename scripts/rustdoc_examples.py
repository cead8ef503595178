#!/usr/bin/env python3
"""Each public item of the libraries has an example, or says where one is. Reads what `cargo doc` made, so run that before.

    scripts/rustdoc_examples.py [FOLDER]    check the pages below FOLDER, such as target/doc

An item's own text has an example, or its first paragraph, or a line `Example: [`name`].`, links to an item that has one, as "What
[`Token::cancelled`] returns." A method is called in an example of its page or of those that its type links to so; or the first
paragraph of its text links to a method that is, as "The same as [`wait`]". Of the forms of one operation (`recv`, `try_recv`,
`recv_timeout`, `recv_async`, ..) one is enough: all are used alike. Getters, which have no argument, need none. What is std's is
left out. No example of `myriad` shows another crate of Myriad, which a program that depends on `myriad-rt` does not have.
"""

import html
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CRATES = ["myriad", "myriad_foreign", "myriad_actor", "myriad_agent", "myriad_flow", "myriad_jobs", "myriad_io", "myriad_hyper"]
OF_STD = re.compile(r"myriad(?:_io)?/(sync/(atomic/.*|(struct|enum|type)\.(Arc|Weak|PoisonError|TryLockError|LockResult|TryLockResult)\.html)"
                    r"|net/(.*/)?(struct|enum|trait)\.(Ip(v4|v6)?Addr|SocketAddr(V4|V6|Ext)?|Shutdown)\.html)$")

INSIDE = re.compile(r"\bmyriad_(?:base|core|sync|task|par|actor|agent|flow|jobs|io|hyper)\b")
EXAMPLE = re.compile(r'class="rust rust-example-rendered"><code>(.*?)</code></pre>', re.S)
ITEM = re.compile(r'<a href="((?:[\w/]+/)?(?:struct|enum|union|trait|fn|macro|type|constant|static)\.[^"]+)"')
POINTS = re.compile(r"<p>(?:[^<]|<(?!/p>))*?\b[Ee]xamples?(?:: | of )(.*?)</p>", re.S)
# The end of an item's own text.
OWN = re.compile(r'<h2 id="(?:fields|variants|implementations|trait-implementations|required-methods|provided-methods|implementors'
                 r'|foreign-impls|modules|structs|enums|traits|functions|macros|types|reexports)"')
METHOD = re.compile(r'<section id="(?:method|tymethod)\.(\w+?)(?:-\d+)?" class="method">.*?<h4 class="code-header">(.*?)</h4>', re.S)
FORM = re.compile(r"^try_|(?:_(?:timeout|deadline|async|arm))+$")


def text(markup):
    return html.unescape(re.sub(r"<[^>]+>", "", markup))


def target(path, link):
    """The page that a link on this page leads to."""
    return Path(os.path.normpath(path.parent / link.split("#")[0]))


def words_of(examples):
    return {without_forms(word) for word in re.findall(r"\w+", examples)}


def first_paragraph(markup):
    """Of the text of an item, which begins after its declaration."""
    return re.search(r'(?:class="docblock">(.*?)</p>)?', markup[max(markup.find('class="docblock">'), 0):], re.S)[1] or ""


def without_forms(name):
    """`try_recv` and `recv_deadline_async` are forms of `recv`."""
    return FORM.sub("", FORM.sub("", name))


def pages(crate):
    """The pages of a crate: its items, and the modules that they stand in."""
    items = {crate / link for link in ITEM.findall((crate / "all.html").read_text())}
    return sorted(items | {page.parent / "index.html" for page in items} | {crate / "index.html"})


class Page:
    def __init__(self, path):
        whole = path.read_text()
        body, *_ = re.split(r'<h2 id="(?:trait-implementations|implementors|foreign-impls)"', whole)
        own, *rest = OWN.split(body, maxsplit=1)
        self.examples = [text(code) for code in EXAMPLE.findall(body)]
        self.has_own = bool(EXAMPLE.search(own))
        self.links = {target(path, link)
                      for line in [first_paragraph(own), *POINTS.findall(own)] for link in re.findall(r'href="([^"]+)"', line)}
        # Each method: its name, its signature, and its text up to the next one.
        found = list(METHOD.finditer(rest[0])) if rest else []
        ends = [method.start() for method in found[1:]] + [len(rest[0]) if rest else 0]
        self.methods = [(method[1], text(method[2]), rest[0][method.end():end]) for method, end in zip(found, ends)]


def is_getter(name, signature):
    return re.search(r"\bfn " + name + r"(<'\w+>)?\(&self\) -> ", signature) is not None


def main():
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else ROOT / "target/doc").resolve()
    known = {path: Page(path) for crate in CRATES for path in pages(folder / crate)}
    wrong, counted = [], 0
    for path, page in known.items():
        name = path.relative_to(folder)
        if OF_STD.match(str(name)):
            continue
        counted += 1
        inside = INSIDE.search("\n".join(page.examples))
        if inside and name.parts[0] == "myriad":
            wrong.append(f"{name}: an example shows `{inside[0]}`, which is `myriad` for a user")

        def called_on(link):
            other = target(path, link) if link else path
            if other == path:
                return called
            return words_of("\n".join(known[other].examples)) if other in known else set()

        there = [known[link] for link in page.links if link in known]
        if not page.has_own and not any(other.examples for other in there):
            wrong.append(f"{name}: neither an example nor a line `Example: [`name`].` that leads to one")
        examples = "\n".join(code for one in [page, *there] for code in one.examples)
        called = words_of(examples)
        for method, signature, says in page.methods:
            counted += 1
            linked = re.findall(r'href="([^"#]*)#(?:ty)?method\.(\w+)"', first_paragraph(says))
            linked += [(link, method) for line in POINTS.findall(says) for link in re.findall(r'href="([^"#]+)', line)]
            if without_forms(method) not in called and not is_getter(method, signature) \
                    and not any(without_forms(name) in called_on(link) for link, name in linked):
                wrong.append(f"{name}: no example calls `{method}`")
    assert counted > 500, f"only {counted} items were found: are the pages there?"
    for line in wrong:
        print(line, file=sys.stderr)
    if wrong:
        sys.exit(f"{len(wrong)} faults in the examples of {counted} items and methods")
    print(f"{counted} items and methods have an example, or say where one is")


main()
