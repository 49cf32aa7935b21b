"""The corpus: replies, each with a class judged by hand or certain by construction, and the right value.

    A    one clear reading: it should be read
    B    a likely one: it may be read, but only so
    G    a guess, or something is lost: refusing is right, any value is wrong
    R    no answer, or one that breaks the schema: must be refused
    cut  the end is missing: must be refused

`hand.jsonl` is written and judged by hand, row by row. `rendered.jsonl` (A) and `cut.jsonl` come from the values below by
`python -m benches.extraction.corpus`, which writes the same rows each time.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from concerto.compiler.pipeline import compile_source
from concerto.runtime.schema.strategy import Schema
from concerto.vm.interp.link import load_image

from .spellings import PLACES, SPELLINGS, Writer, placed

HERE = Path(__file__).resolve().parent
CLASSES = ("A", "B", "G", "R", "cut")
FILES = ("hand.jsonl", "rendered.jsonl", "cut.jsonl")

VALUES: dict[str, Any] = {
    "Answer": {"key": "say \"yes\", it's {fine}"},
    "City": {"city": "São Paulo", "ok": True, "population": 12325232},
    "Ticket": {"title": "Can't export: \"disk full\"", "kind": "bug", "urgent": False, "tags": ["export", "disk, full", "#12"]},
    "Order": {
        "id": 4711,
        "items": [{"name": "Pen (blue)", "price": 0.75, "count": 1200}, {"name": "Ink\n50 ml", "price": 8.5, "count": 1}],
        "total": 908.5,
    },
    "Node": {
        "name": "root",
        "children": [{"name": "left", "children": [{"name": "leaf", "children": []}]}, {"name": "right", "children": []}],
    },
    "Review": {"sentiment": "Mixed", "score": -0.25, "why": "Good screen.\nThe battery doesn't last\ta day."},
    "Facts": {"facts": {"seats": 5, "top speed": 182, "weight_kg": 1450}},
    "Note": {"text": "See http://example.org/#top and run:\n```sh\nls -l\n```\n", "key": "n/1"},
    "Limits": {"max": 250000, "ratio": 0.125, "names": ["None", "true", "a // b", "[x]"]},
    "Person": {"name": "Zoë", "age": 41, "email": None},
}
CUT_PLACES = ("alone", "alone", "prose", "prose and fence", "thinking", "list of one")


class Row(NamedTuple):
    id: str
    cls: str
    kind: str
    """What is odd about it."""
    schema: str
    reply: str
    value: Any
    """The value of the schema, absent fields as null; None where there is none to be had."""

    def line(self) -> str:
        names = ("id", "class", "kind", "schema", "reply", "value")
        return json.dumps(dict(zip(names, self, strict=True)), ensure_ascii=False).replace("\u2028", "\\u2028") + "\n"


def rows() -> list[Row]:
    return [row for name in FILES for row in read_rows(name)]


def read_rows(name: str) -> list[Row]:
    lines = (HERE / name).read_text(encoding="utf-8").split("\n")
    return [Row(*json.loads(line).values()) for line in lines if line]


@cache
def schemas() -> dict[str, Schema]:
    source = (HERE / "schemas.conc").read_bytes()
    image = compile_source(source, "schemas.conc").image
    assert image is not None
    return {schema.name: Schema(schema.name, schema.shape) for schema in load_image(image).image.schemas}


# ---------------------------------------------------------------- rows by construction


def rendered() -> list[Row]:
    """Every value in every spelling by itself, in some at once, and in every place."""
    found = []
    for name, value in VALUES.items():
        ways = [(spelling, frozenset([spelling]), "alone") for spelling in SPELLINGS]
        ways += [(f"some spellings {n}", None, "prose and fence") for n in range(2)]
        ways += [(place, frozenset[str](), place) for place in PLACES if place not in ("alone", "quoted", "bracket too many")]
        for kind, spellings, place in ways:
            chance = Random(f"{name} {kind}")
            used = frozenset(chance.sample(SPELLINGS, 4)) if spellings is None else spellings
            text = Writer(chance, used, indent=chance.random() < 0.6).text(value)
            before, behind = placed(text, place, chance)
            found.append(Row(f"W{len(found) + 1}", "A", kind, name, before + text + behind, value))
    return each_once(found)


def cut() -> list[Row]:
    """Cut somewhere between the first bracket and the last."""
    found = []
    for name, value in (VALUES | {"Hints": {"tone": "dry", "language": "en", "length": 3}}).items():
        chance = Random(name)
        for number in range(24):
            used = frozenset(chance.sample(SPELLINGS, 2)) if number % 3 == 0 else frozenset[str]()
            text = Writer(chance, used, indent=number % 2 == 0).text(value)
            before, _ = placed(text, chance.choice(CUT_PLACES), chance)
            at = chance.randrange(1, len(text))
            found.append(Row(f"C{len(found) + 1}", "cut", "cut", name, before + text[:at], None))
    return each_once(found)


def each_once(found: list[Row]) -> list[Row]:
    """A value without fractions, say, is the same in two spellings of numbers."""
    return list({(row.schema, row.reply): row for row in reversed(found)}.values())[::-1]


def main() -> None:
    for name, made in (("rendered.jsonl", rendered()), ("cut.jsonl", cut())):
        (HERE / name).write_text("".join(row.line() for row in made), encoding="utf-8")


if __name__ == "__main__":
    main()
