"""What is written as JSON is read again, over 1,000 generated schemas and as many types beyond schemas (L-5.1.21, O-2.60)."""

from __future__ import annotations

import random

import concerto
import pytest

PROGRAMS = 40
SCHEMAS = 25  # of one program
UNITS = ("Kind", ["invoice", "Receipt", "other_one"])
TEXTS = ["", "plain", "a \\\\ b", "tab\\t", "quote \\\"", "line\\nend", "ünïcode 🎻", "```json", "{}", "null", "</think>"]


class Maker:
    """Types and literals of them, as source; `plain`: only what a schema holds."""

    def __init__(self, seed: int, plain: bool) -> None:
        self.random = random.Random(seed)
        self.plain = plain
        self.declared: list[str] = []
        self.fields: dict[str, list[tuple[str, str]]] = {}

    def type(self, depth: int = 0) -> str:
        pick = self.random.choice
        leaves = ["String", "Int", "Float", "Bool", "Bytes", "Any", "Kind", '"a" | "b c"']
        if not self.plain:
            leaves += ["Nil", "Range", "Whole"]
        if depth > 2:
            return pick(leaves)
        whole = ["Array<{}>", "Map<String, {}>", "struct"]
        if not self.plain:
            whole += ["Option<{}>", "({}, {})", "Map<Int, {}>", "Map<Bool, {}>", "Result<{}, {}>"]
        form = pick([*leaves, *whole])
        if form == "struct":
            return self.declare("struct", depth + 1)
        inner = [self.type(depth + 1) for _ in range(form.count("{}"))]
        if form.startswith("Option") and inner[0].startswith(("Option", "Nil", "Any")):
            return inner[0]  # an absent value inside a present one has no JSON of its own
        return form.format(*inner)

    def declare(self, word: str, depth: int = 0) -> str:
        name = f"{'S' if word == 'schema' else 'P'}{len(self.fields)}"
        self.fields[name] = []
        rows = []
        for number in range(self.random.randint(1, 4)):
            kind = self.type(depth)
            field, mark = f"f{number}", ""
            if word == "schema" and kind != "Any" and self.random.random() < 0.3:
                mark = "?"
                self.fields[name].append((field, f"Option<{kind}>"))
            else:
                self.fields[name].append((field, kind))
            rows.append(f"{field}{mark}: {kind}")
        self.declared.append(f"{word} {name} {{ {', '.join(rows)} }}")
        return name

    def value(self, kind: str) -> str:
        pick, among = self.random.choice, self.random.randint
        if kind in self.fields:
            return f"{kind} {{ {', '.join(f'{name}: {self.value(held)}' for name, held in self.fields[kind])} }}"
        head, _, rest = kind.partition("<")
        inner = split(rest[:-1]) if rest else []
        if kind.startswith('"'):
            return pick(kind.split(" | "))
        if kind.startswith("("):
            return f"({', '.join(map(self.value, split(kind[1:-1])))})"
        count = among(0, 3)
        if head == "Array":
            return f"[{', '.join(self.value(inner[0]) for _ in range(count))}]"
        if head == "Map":
            keys = {"String": [f'"{text}"' for text in TEXTS], "Int": ["0", "-5", "77"], "Bool": ["true", "false"]}[inner[0]]
            some = self.random.sample(keys, min(count, len(keys)))
            return f"{{{', '.join(f'{key}: {self.value(inner[1])}' for key in some)}}}"
        if head == "Option":
            return "None" if count == 0 else f"Some({self.value(inner[0])})"
        if head == "Result":
            return f"Ok({self.value(inner[0])})" if count % 2 else f"Err({self.value(inner[1])})"
        return {
            "String": f'"{pick(TEXTS)}"', "Bytes": f'"{pick(TEXTS)}".to_bytes()',
            "Any": pick(['"x"', "1", "2.5", "true", "nil", '[1, 2]', '{"k": [nil, "v"]}']),
            "Int": pick(["0", "-1", "9223372036854775807", str(among(-1000, 1000))]),
            "Float": pick(["0.0", "-0.0", "1.0", "0.1", "1e300", "5e-324", "123456789.125"]),
            "Bool": pick(["true", "false"]), "Nil": "nil", "Range": pick(["1..5", "..=3", "2.."]),
            "Kind": f"Kind::{pick(UNITS[1])}",
            "Whole": pick(["Whole::none", "Whole::one(3)", 'Whole::two(1.0, "x")', "Whole::named { at: [1], to: None }"]),
        }[kind]  # fmt: skip


def split(types: str) -> list[str]:
    """The types between the commas of a list of them."""
    parts, depth = [""], 0
    for sign in types:
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            parts.append("")
        else:
            parts[-1] += sign
    return [part.strip() for part in parts]


def differing(maker: Maker, names: list[str], readers: list[str]) -> list[str]:
    """What a program says of the types that a reader does not give back."""
    declared = "\n".join(maker.declared)
    functions, calls = [], []
    for number, name in enumerate(names):
        functions.append(f"fn make{number}() -> {name} {{ return {maker.value(name)}; }}")
        for reader in readers:
            calls.append(
                f"let text = json::stringify(make{number}()); let back = {reader}<{name}>(text);"
                f' if back != Ok(make{number}()) {{ emit("differs", "{reader} ${{text}} gives ${{back}}"); }}'
            )
    source = (
        f"use std::json;\nenum Kind {{ {', '.join(UNITS[1])} }}\n"
        "enum Whole { none, one(Int), two(Float, String), named { at: Array<Int>, to: Option<Kind> } }\n"
        f"{declared}\n{chr(10).join(functions)}\npub fn main() {{\n{chr(10).join(f'    {{ {call} }}' for call in calls)}\n}}\n"
    )
    found: list[str] = []
    program = concerto.compile(source)
    with program.session() as session:
        session.on("differs", found.append)
        session.call("main")
    return found


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_schemas(seed: int) -> None:
    maker = Maker(seed, plain=True)
    names = [maker.declare("schema") for _ in range(SCHEMAS)]
    assert differing(maker, names, ["parse_schema", "json::parse_as"]) == []


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_types_beyond_schemas(seed: int) -> None:
    maker = Maker(seed, plain=False)
    names = [maker.type() for _ in range(SCHEMAS)]
    assert differing(maker, names, ["json::parse_as"]) == []
