"""Programs for the laws: all there are in the repository, the same with other white space and comments, and made-up ones."""

from __future__ import annotations

import random
import re
from functools import cache
from pathlib import Path

from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax.lexer import lex
from concerto.vm.memory_steps import FIELDS
from hypothesis import strategies as st

from .laws import tree

ROOT = Path(__file__).resolve().parent.parent.parent
_FOLDERS = ("conformance/tests", "examples", "benches/programs", "tests")
_CHUNK = re.compile(r"^//=====$\n?", re.MULTILINE)
_BLOCK = re.compile(r"^```concerto\n(.*?)^```", re.MULTILINE | re.DOTALL)


@cache
def corpus() -> dict[str, str]:
    """Every program of the repository that parses, by its name."""
    found = {}
    for folder in _FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.conc")):
            text = path.read_bytes().decode("utf-8", "replace").removeprefix("\ufeff")
            found.update({f"{path.relative_to(ROOT)}#{at}": one for at, one in enumerate(_CHUNK.split(text), 1)})
    for path in sorted((ROOT / "docs").rglob("*.md")):
        blocks = _BLOCK.findall(path.read_text("utf-8"))
        found.update({f"{path.relative_to(ROOT)}#{at}": one for at, one in enumerate(blocks, 1)})
    return {name: text for name, text in found.items() if tree(text) is not None}


_GAPS = (
    *[" "] * 8, "\n", "\n", "\n\n\n", " // {}\n", " /* {} */ ", "\n// {}\n", "\n\n// {}\n\n", "\n/* {} */ ", " /* {} */\n",
    " /// {}\n", "\n/// {}\n", " /* {}\n b */ ", " /* {} *//* c */ ",
)  # fmt: skip


def respelled(text: str, chance: random.Random) -> str:
    """The same tokens with other white space and more comments between them; strings stay as they are."""
    rate = chance.choice((0.05, 0.2, 1.0))
    tokens = lex(Source("t.conc", text), Diagnostics())
    out: list[str] = []
    before = ["", ""]
    open_strings = end = 0
    for kind, start, stop in zip(tokens.types, tokens.starts, tokens.ends, strict=True):
        of_label = kind == "COLON" or before == ["LABEL", "COLON"]  # a label is known by its line (L-1.6.1)
        if open_strings:
            out.append(text[end:start])
        elif chance.random() < rate and not of_label:
            out.append(chance.choice(_GAPS).format(len(out)))
        else:
            out.append(" ")
        open_strings += (kind == "ISTR_START") - (kind == "ISTR_END")
        out.append(text[start:stop])
        before, end = [before[1], kind], stop
    return "".join(out)


# ---------------------------------------------------------------- made-up programs

_NAMES = st.sampled_from(["a", "b", "count", "self_describing_name", "another_rather_long_name", "Type::member"])
_LEAVES = _NAMES | st.sampled_from(
    ["1", "2.5", "0xFF", "nil", "true", '"text"', "'one ${a} two'", 'r#"raw"#', "[]", "()", "|| 1", "[1, 2, -3]", "{ }",
     '"""\n    several\n    lines\n    """']
)  # fmt: skip
_FORMS = (
    "{} + {}", "{} * {}", "{} && {}", "{} || {}", "{} == {}", "{} < {}", "{} ?? {}", "{} ** {}", "- {}", "!{}", "({})",
    "({},)", "({}, {})", "[{}, {}]", "f({})", "f({}, {})", "f(x: {}, y: {})", "({}).m({}).n({})", "({}).m()?.field.n({})?",
    "({})[{}]", "({}).0.1", "({})? ?", "(({}) as Int)", "(({}) as Map<String, Array<Int>>)", "{{ a: {}, (b): {} }}",
    "S {{ x: {}, y, ..({}) }}", "|x| {}", "|x: Int, (y, z)| {{ {} }}", "|x| -> Int {{ let y = {}; {} }}", "({} |> f({}))",
    "({} |> o.m({})? |> (g)(1))", "(a |> g |> |x| {})", "(({})..({}))", "(({})..)",
    "(if ({}) {{ {} }} else {{ {} }})", "(match ({}) {{ 1 | 2 => {}, _ => {{ {} }} }})",
    "try {{ {} }} catch E(e) {{ {} }}", "async {{ {} }}", "spawn f({})", "await ({})", "(fn (a: Int) {{ {} }})",
    "({}).m(|x| {{ g({}); {} }})", "(throw {})", "f({}, |x| {{ {}; }}, {})",
)  # fmt: skip


def _filled(form: str, parts: tuple[str, ...]) -> str:
    """An arm ends after a block, whatever follows (L-2.4.2): one that begins with one stands in parentheses there."""
    if "match" in form:
        parts = tuple(f"({part})" if part.startswith(("{", "try {", "async {")) else part for part in parts)
    return form.format(*parts)


EXPRESSIONS = st.recursive(
    _LEAVES,
    lambda inner: st.sampled_from(_FORMS).flatmap(
        lambda form: st.tuples(*[inner] * form.replace("{{", "").count("{}")).map(lambda parts: _filled(form, parts))
    ),
    max_leaves=25,
)
_STATEMENTS = (
    "let x = {};", "let (mut x, y): (Int, Int) = {};", "{};", "if a && ({}) || b {{ f({}); }}", "for x in ({}) {{ g({}) }}",
    "while ({}) {{ h({}); break; }}", "return {};", "x.y[{}] += {};", "// note\n", "\n\n",
    "match ({}) {{ P {{ x, .. }} if {} => {{ }} n @ 1.. => {} }}",
)  # fmt: skip
STATEMENTS = st.sampled_from(_STATEMENTS).flatmap(
    lambda form: st.tuples(*[EXPRESSIONS] * form.replace("{{", "").count("{}")).map(lambda parts: _filled(form, parts))
)
# Blocks of memories, whose fields change places.
_FIELD = st.tuples(st.sampled_from([*FIELDS, "unknown"]), EXPRESSIONS, st.sampled_from([",", ""])).map(
    lambda field: "{}: {}{}".format(*field)
)
_MEMORY = st.lists(_FIELD, max_size=6).map(lambda fields: f"memory log {{ {' '.join(fields)} }}")
PROGRAMS = st.tuples(st.lists(STATEMENTS, max_size=5), st.lists(_MEMORY, max_size=2)).map(
    lambda parts: f"{' '.join(parts[1])} fn main() {{ {' '.join(parts[0])} }}"
)
