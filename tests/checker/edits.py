"""Programs of several files, and random edits of them as somebody makes who writes them."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

from ..command import EXAMPLES
from ..suite_sources import suite_sources

Files = dict[str, str]
_WORD = re.compile(r"[A-Za-z_]\w*")
_BODY = re.compile(r"\bfn \w+[^{};]*\{")
_FUNCTION = re.compile(r"\b((?:pub )?fn )(\w+)(\([^)]*\))")

# What an edit may put at the beginning of a body, and what it may put between two items. NAME is a new name.
STATEMENTS = (
    "let NAME = 1;", "let mut NAME = 2; println(NAME);", 'println("a");', "let NAME: Int = \"no\";", "NAME();", "return;",
    "let NAME = Memory::new();", "fn NAME() -> Int { 1 } NAME();", "// NAME", "match 1 { 1 => {}, 1 => {}, _ => {} }",
    "use crate::NAME;", "let NAME = [1, 2]; NAME.push(3);", "struct NAME { x: Int }",
)  # fmt: skip
ITEMS = (
    "pub fn NAME() -> Int { let a = 1; 2 }", "pub const NAME: Int = 3;", "pub struct Added { pub x: Int }",
    "mod NAME { pub fn f() {} }",
    "pub trait Added { fn label(self) -> String; }", "enum Added { One, Two }", "memory NAME: Memory = Memory::new();",
    "// a comment", "/* two\n\nlines */", "use std::json;", "use crate::NAME;", "fn main() { }",
    "trait T9 { fn get(mut self) -> Int; }",
)  # fmt: skip


def suite_programs() -> Iterator[Files]:
    """Yield the programs of the suite that have several files, each with its root as `main.conc` if it has one."""
    programs: dict[str, Files] = {}
    for name, text in suite_sources().items():
        ident, _, file = name.rpartition(":")
        programs.setdefault(ident, {})[file] = text
    yield from (files for files in programs.values() if len(files) > 1)


def example_programs() -> Iterator[Files]:
    """Yield the examples of several files."""
    for folder in ("desk", "large"):
        paths = sorted((EXAMPLES / folder).rglob("*.conc"))
        yield {path.relative_to(EXAMPLES / folder).as_posix(): path.read_text(encoding="utf-8") for path in paths}


def joined_programs(chance: random.Random, count: int) -> Iterator[Files]:
    """Yield programs whose modules are programs of the suite, of one topic or of several: what they declare meets."""
    texts = [(name, text) for name, text in suite_sources().items() if len(text) < 6_000]
    for _ in range(count):
        start = chance.randrange(len(texts))
        near = [texts[(start + step) % len(texts)] for step in range(4)]
        chosen = near if chance.random() < 0.6 else chance.sample(texts, 4)
        files = {f"part{number}.conc": text for number, (_, text) in enumerate(chosen)}
        uses = "".join(f"mod part{number};\n" for number in range(len(chosen)))
        files["main.conc"] = uses + "use part0::main as first;\nfn main() { first(); }\n"
        yield files


def edited(text: str, words: list[str], chance: random.Random) -> str:
    """Return a text after one random edit; `words` are those of the whole program."""
    kind = chance.randrange(11)
    lines = text.split("\n")
    name = chance.choice([*words, "fresh", "part1", "helper"])
    if kind <= 2:
        places = [match.end() for match in _BODY.finditer(text)]
        if places:
            at = chance.choice(places)
            return text[:at] + " " + chance.choice(STATEMENTS).replace("NAME", name) + " " + text[at:]
    if kind == 3:
        return chance.choice(ITEMS).replace("NAME", name) + "\n" + text
    if kind == 4:
        return text + "\n" + chance.choice(ITEMS).replace("NAME", name) + "\n"
    if kind in (5, 6):  # a word becomes another word of the program
        matches = list(_WORD.finditer(text))
        if matches:
            match = chance.choice(matches)
            return text[: match.start()] + chance.choice(words) + text[match.end() :]
    if kind == 7:
        matches = list(re.finditer(r"\b\d+\b", text))
        if matches:
            match = chance.choice(matches)
            return text[: match.start()] + str(chance.randrange(9)) + text[match.end() :]
    if kind == 8:
        at = chance.randrange(len(lines))
        return "\n".join(lines[:at] + lines[at + 1 :])
    if kind == 9:
        matches = list(_FUNCTION.finditer(text))
        if matches:
            match = chance.choice(matches)
            form = chance.choice([(match[1] + match[2] + "_"), "pub fn " + match[2], "fn " + match[2], "async fn " + match[2]])
            head = chance.choice([match[3], "()", "(extra: Int)", match[3].replace(")", ", more: Int = 1)")])
            return text[: match.start()] + form + head + text[match.end() :]
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(["{", "}", "(", ";", '"', "\n\n", " ", "pub ", "mut ", "@"]) + text[at:]
