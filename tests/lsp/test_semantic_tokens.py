"""Semantic tokens: over the wire, and against the compiler's lexer for every program of the suite (O-9.25, O-9.55)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.incremental import CheckCache
from concerto.compiler.source import Source
from concerto.compiler.syntax.lexer import HARD_KEYWORDS, lex
from concerto.lsp.analysis import UTF8, UTF16, UTF32, analyse, position_at

from ..suite_sources import suite_sources

pytest.importorskip("pygls")

from concerto.lsp import analysis as places
from concerto.lsp import semantic
from concerto.lsp.semantic import MODIFIERS, SHADES, STANDARD, TYPES, Token, change, encoded, tokens
from lsprotocol import types as protocol

from .editor import Editor

TEXT = '''use std::json;
/// Doubles.
fn twice(n: Int) -> Int { n * 2 }
enum Sort { Near, Far(Int) }
struct P { x: Int }
impl P { fn far(self) -> Int { self.x } }
model M { provider: openai, base: "m" }
const BIG: Int = 9;
@test("t")
async fn main() {
    let mut face = "\U0001f600 ${twice(BIG)} \\n";
    let p = P { x: 1 };
    println(p.far() + p.x);
    let s = Sort::Far(2); // end
    let t = """a
      b""";
    println(face.len(), json::stringify(s));
    'a: loop { break 'a; }
}
'''


@pytest.fixture
def editor(tmp_path: Path) -> Iterator[Editor]:
    made = Editor(tmp_path.resolve())
    yield made
    made.leave()


def test_fields_of_a_memory_block_are_properties(editor: Editor) -> None:
    text = "memory log { window: { turns: 4 }, pin: [System] }\nfn main() { let _ = log.len(); }\n"
    editor.open(text)
    data = editor.about("semanticTokens/full")["data"]
    found = {part: kind for part, kind, _ in decoded(text, data)}
    assert [found[part] for part in ("memory", "log", "window", "turns", "pin")] == ["keyword", "variable", *["property"] * 3]


def decoded(text: str, data: list[int]) -> list[tuple[str, str, set[str]]]:
    """Text, type and modifiers of each token, as an editor reads them."""
    lines = [line.encode("utf-16-le") for line in text.split("\n")]
    found, line, at = [], 0, 0
    for n in range(0, len(data), 5):
        down, right, length, type_, bits = data[n : n + 5]
        line, at = line + down, right if down else at + right
        part = lines[line][at * 2 : (at + length) * 2].decode("utf-16-le")
        assert len(part.encode("utf-16-le")) == length * 2, "a token ends in its line"
        found.append((part, TYPES[type_], {name for bit, name in enumerate(MODIFIERS) if bits >> bit & 1}))
    return found


def test_the_whole_document(editor: Editor) -> None:
    provider = editor.capabilities["capabilities"]["semanticTokensProvider"]
    assert provider["legend"] == {"tokenTypes": list(TYPES), "tokenModifiers": list(MODIFIERS)}
    assert provider["range"] is True and provider["full"] == {"delta": True}
    editor.open(TEXT)
    found = decoded(TEXT, editor.about("semanticTokens/full")["data"])
    for wanted in [
        ("std", "namespace", {"defaultLibrary"}), ("/// Doubles.", "comment", {"documentation"}),
        ("fn", "keyword", {"declaring"}),
        ("twice", "function", {"declaration"}), ("n", "parameter", {"declaration"}), ("n", "parameter", {"readonly"}),
        ("twice", "function", set()), ("Sort", "enum", {"declaration"}), ("Far", "enumMember", set()), ("Sort", "enum", set()),
        ("P", "struct", {"declaration"}), ("x", "property", {"declaration"}), ("far", "method", {"declaration"}),
        ("far", "method", set()), ("M", "class", {"declaration"}), ("provider", "property", set()),
        ("model", "keyword", {"declaring"}),
        ("BIG", "variable", {"declaration", "readonly"}), ("BIG", "variable", {"readonly"}), ("test", "decorator", set()),
        ("main", "function", {"declaration", "async"}), ("face", "variable", {"declaration"}), ("face", "variable", set()),
        ("\U0001f600 ", "string", set()), ("${", "operator", {"hole"}), ("\\n", "string", {"escape"}), ("2", "number", set()),
        ("p", "variable", {"declaration", "readonly"}), ("p", "variable", {"readonly"}), ("self", "keyword", {"self"}),
        ("println", "function", {"defaultLibrary"}), ("len", "method", {"defaultLibrary"}), ("// end", "comment", set()),
        ("stringify", "function", {"defaultLibrary"}), ('"""a', "string", set()), ('      b"""', "string", set()),
        ("'a", "label", set()), ("x", "property", set()), ("Int", "type", {"defaultLibrary"}),
    ]:  # fmt: skip
        assert wanted in found or (wanted[0] == "\U0001f600 " and ('"\U0001f600 ', *wanted[1:]) in found), wanted


def test_a_part_and_what_changed(editor: Editor) -> None:
    editor.open(TEXT)
    whole = editor.about("semanticTokens/full")
    lines = {"start": {"line": 2, "character": 0}, "end": {"line": 4, "character": 0}}
    part = decoded(TEXT, editor.about("semanticTokens/range", range=lines)["data"])
    full = decoded(TEXT, whole["data"])
    first = full.index(("fn", "keyword", {"declaring"}))
    assert part == full[first : first + len(part)] and ("Near", "enumMember", {"declaration"}) in part and len(part) < 30
    changed = TEXT.replace("n * 2", "n * 2 + 1")
    editor.edit(changed)
    answer = editor.about("semanticTokens/full/delta", previousResultId=whole["resultId"])
    data = whole["data"]
    [edit] = answer["edits"]
    data[edit["start"] : edit["start"] + edit["deleteCount"]] = edit["data"]
    assert data == editor.about("semanticTokens/full")["data"] and len(edit["data"]) < 20
    assert "data" in editor.about("semanticTokens/full/delta", previousResultId="no such answer")
    last = editor.about("semanticTokens/full")["resultId"]
    assert editor.about("semanticTokens/full/delta", previousResultId=last)["edits"] == []


def test_the_legend_is_the_protocols() -> None:
    assert set(TYPES) <= {one.value for one in protocol.SemanticTokenTypes}
    assert set(STANDARD) <= {one.value for one in protocol.SemanticTokenModifiers}
    assert (*STANDARD, *SHADES) == MODIFIERS  # further ones are an editor's to know or pass over


def test_an_associated_function_is_one(editor: Editor) -> None:
    text = "memory log: Memory = Memory::new(20);\n"
    editor.open(text)
    found = decoded(text, editor.about("semanticTokens/full")["data"])
    assert [one for one in found if one[0] in ("Memory", "new")][1:] == [
        ("Memory", "type", {"defaultLibrary"}), ("new", "function", {"defaultLibrary"}),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("before", "after"),
    [([], [1] * 5), ([1] * 5, []), ([1] * 10, [1] * 15), ([1] * 5 + [2] * 5, [1] * 5 + [3] * 5 + [2] * 5), ([2] * 10, [3] * 5)],
)
def test_a_change_leads_from_one_to_the_other(before: list[int], after: list[int]) -> None:
    found = change(before, after)
    assert found is not None
    start, count, data = found
    assert before[:start] + data + before[start + count :] == after
    assert change(after, after) is None


KINDS = {
    "INT": {"number"}, "FLOAT": {"number"}, "LABEL": {"label"}, "STRING": {"string"}, "ISTR_START": {"string", "operator"},
    "ISTR_MID": {"string", "operator"}, "ISTR_END": {"string", "operator"}, "AT": {"decorator"},
    "IDENT": set(TYPES) - {"string", "number", "comment", "operator", "label"},
    **dict.fromkeys(HARD_KEYWORDS.values(), set(TYPES) - {"string", "number", "comment", "operator", "label"}),
}  # fmt: skip
PUNCTUATION = set("(){}[],;:.") | {"::"}


def wrong(text: str, found: list[Token]) -> Iterator[str]:
    """Tokens of the lexer that have no semantic token, or one of another kind."""
    by_offset: dict[int, str] = {}
    reached = 0
    for token in found:
        assert reached <= token.start < token.end, "in order, and none over another"
        reached = token.end
        by_offset.update(dict.fromkeys(range(token.start, token.end), token.type))
    spans = {(token.start, token.end) for token in found}
    listed = lex(Source("", text), Diagnostics())
    for token in listed:
        part = text[token.start : token.end]
        if part in PUNCTUATION or token.type == "$end":
            continue
        kinds = {by_offset.get(at, "none") for at in range(token.start, token.end) if not text[at].isspace()}
        allowed = KINDS.get(token.type, {"operator"})
        if not kinds <= allowed or (token.type == "IDENT" and (token.start, token.end) not in spans):
            yield f"{part!r} is {kinds}, not {allowed}"
    for comment in listed.comments:
        if by_offset.get(comment.span.start) != "comment":
            yield f"{comment.text!r} is no comment"


def test_every_name_of_the_suite_has_a_token(tmp_path: Path) -> None:
    path = str(tmp_path / "main.conc")
    found: list[Any] = []
    for name, text in list(suite_sources().items())[::2]:  # every second program: the others show nothing new
        found += [f"{name}: {line}" for line in wrong(text, tokens(analyse(path, text, {}, CheckCache())))]
    assert found == []


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
def test_the_numbers_lead_to_the_places_of_the_tokens(tmp_path: Path, encoding: str) -> None:
    text = TEXT + "// \U0001f600 \u00e9\nfn f() { let a = [\"\u00e9\U0001f600\", \"b\"]; /* \U0001f600 */ let b = 1; }\n"
    analysis = analyse(str(tmp_path / "main.conc"), text, {}, CheckCache())
    found = tokens(analysis)
    data = encoded(found, analysis.source, encoding)
    line = at = 0
    for token, number in zip(found, range(0, len(data), semantic.FIVE), strict=True):
        down, along, length = data[number : number + 3]
        line, at = line + down, along if down else at + along
        assert (line, at) == position_at(analysis.source, token.start, encoding)
        assert (line, at + length) == position_at(analysis.source, token.end, encoding)


def test_each_character_of_a_long_line_is_counted_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"fn main() {{ let a = [{', '.join(map(str, range(2000)))}]; }}\n"
    analysis = analyse(str(tmp_path / "main.conc"), text, {}, CheckCache())
    measured: list[int] = []
    units = semantic.units
    for module in (semantic, places):
        monkeypatch.setattr(module, "units", lambda text, encoding: measured.append(len(text)) or units(text, encoding))
    assert len(encoded(tokens(analysis), analysis.source, UTF16)) > 2000 * semantic.FIVE
    assert sum(measured) <= 2 * len(text)


def test_no_name_copies_the_rest_of_the_text(tmp_path: Path) -> None:
    class Copied(str):
        """A text that counts the characters of its parts."""

        count = 0

        def __getitem__(self, key: Any) -> str:
            part = super().__getitem__(key)
            Copied.count += len(part)
            return part

    text = "fn main() { let x = 1; x?: " + "x + " * 2000 + "x }\n"
    found = list(semantic._whole(Copied(text), {}))
    assert [token.type for token in found if text[token.start : token.end] == "x"][:3] == ["variable", "property", "variable"]
    assert Copied.count < 20 * len(text)


def test_the_items_are_gone_through_once(tmp_path: Path) -> None:
    class Symbols(list[Any]):
        """Symbols that count how often somebody goes through them."""

        count = 0

        def __iter__(self) -> Iterator[Any]:
            Symbols.count += 1
            return super().__iter__()

    text = "enum E { A }\n" + "fn f() -> E { E::A }\n" * 20
    analysis = analyse(str(tmp_path / "main.conc"), text, {}, CheckCache())
    assert analysis.examined is not None
    analysis.examined = analysis.examined._replace(symbols=Symbols(analysis.examined.symbols))
    found = tokens(analysis)
    assert {token.type for token in found if text[token.start : token.end] == "E"} == {"type", "enum"}
    assert Symbols.count == 1
