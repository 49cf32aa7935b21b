"""`concerto lsp` as an editor meets it: a child process and the messages of the protocol (O-9.25)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from .editor import Editor

TEXT = """/// A point in the plane.
struct Point { pub x: Int, y: Int }

impl Point {
    /// How far it is.
    pub fn far(self) -> Int { self.x + self.y }
}

enum Sort { Near, Far(Int) }

/// Adds.
fn add(a: Int, b: Int) -> Int { a + b }

fn main() {
    let p = Point { x: 1, y: 2 };
    let face = "\U0001f600"; let n = face.len() + p.far();
    emit("out", add(n, p.x));
}
"""
LAST = 16  # the line of the emit


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Editor]:
    """One server for all tests of the module: editors keep theirs for days."""
    made = Editor(tmp_path_factory.mktemp("project").resolve())
    yield made
    code, err = made.leave()
    assert (code, err) == (0, "")


@pytest.fixture
def editor(running: Editor) -> Iterator[Editor]:
    yield running
    running.close_all()
    for path in running.folder.iterdir():
        path.unlink()


def with_line(line: str) -> str:
    """The text with a line in front of the emit."""
    lines = TEXT.split("\n")
    return "\n".join([*lines[:LAST], line, *lines[LAST:]])


def spot(text: str, part: str) -> tuple[int, int]:
    """Where a part of the text begins; only for lines of plain characters."""
    before = text[: text.index(part)]
    return before.count("\n"), len(before) - before.rfind("\n") - 1


def test_it_says_what_it_can_do(editor: Editor) -> None:
    found = editor.capabilities["capabilities"]
    assert found["positionEncoding"] == "utf-16"
    for name in ("hoverProvider", "definitionProvider", "documentSymbolProvider", "documentFormattingProvider"):
        assert found[name]
    assert found["completionProvider"]["triggerCharacters"] == [".", ":"]


def test_diagnostics_come_and_go_with_edits(editor: Editor) -> None:
    assert editor.open(TEXT) == []
    [found] = editor.edit(TEXT.replace("add(n, p.x)", "add(n, true)"))
    assert (found["code"], found["severity"]) == ("E2009", 1)
    assert found["range"]["start"] == {"line": LAST, "character": 23}
    assert editor.edit(TEXT) == []


def test_of_a_closed_document_the_file_counts(editor: Editor) -> None:
    (editor.folder / "b.conc").write_text("pub fn f() {}\n")
    assert editor.open("mod b;\nfn main() { b::f(); }\n") == []
    editor.open("pub fn g() {}\n", "b.conc")
    [found] = editor.diagnostics("a.conc")
    assert found["code"].startswith("E1")
    assert editor.close("b.conc") == {editor.uri("a.conc"): [], editor.uri("b.conc"): []}


def test_a_question_does_not_open_a_closed_document(editor: Editor) -> None:
    (editor.folder / "b.conc").write_text("fn f() { none(); }\n")
    editor.open("fn main() {}\n")
    assert editor.open("fn f() { none(); }\n", "b.conc")
    assert editor.close("b.conc")[editor.uri("b.conc")] == []
    document = {"textDocument": {"uri": editor.uri("b.conc")}}
    assert [symbol["name"] for symbol in editor.ask("textDocument/documentSymbol", document)] == ["f"]
    assert editor.ask("textDocument/semanticTokens/full", document)["data"]
    editor.edit("fn main() { }\n")
    editor.number += 1
    editor.send({"id": editor.number, "method": "textDocument/documentSymbol", "params": document})
    assert editor.receive().get("id") == editor.number  # nothing was published before


def test_positions_count_utf_16_units(editor: Editor) -> None:
    """The face is one code point and two units; the message stands behind it on its line."""
    [found] = editor.open(TEXT.replace("p.far()", "p.fur()"))
    line = next(line for line in TEXT.split("\n") if "far()" in line and "let" in line)
    units = len(line[: line.index("far()")].encode("utf-16-le")) // 2
    assert found["range"]["start"]["character"] == units == line.index("far()") + 1
    editor.edit(TEXT)
    assert "How far it is." in editor.hover(15, units + 1)
    assert editor.at("definition", 15, units + 1)["range"]["start"] == {"line": 5, "character": 11}


def test_a_warning_names_its_help_and_the_place_it_speaks_of(editor: Editor) -> None:
    [unused] = editor.open("fn main() {\n    let a = 1;\n}\n")
    assert unused["severity"] == 2 and "help: write `_a`" in unused["message"]
    [twice] = editor.edit("fn f() {}\nfn f() {}\nfn main() { f(); }\n")
    [first] = twice["relatedInformation"]
    assert first["location"] == {
        "uri": editor.uri("a.conc"),
        "range": {"start": {"line": 0, "character": 3}, "end": {"line": 0, "character": 4}},
    }


@pytest.mark.parametrize(
    ("part", "into", "shown"),
    [
        ("p = Point", 0, "p: Point"),
        ("Point { x: 1", 2, "struct Point { pub x: Int, y: Int }\n```\n\nA point in the plane."),
        ("add(n", 1, "fn add(a: Int, b: Int) -> Int\n```\n\nAdds."),
        ("x + self", 0, "x: Int"),
        ("emit(", 2, "fn emit("),
        ("Int { self", 1, ""),
        ("+ b }", 0, "Int"),
    ],
)
def test_hover_shows_type_and_documentation(editor: Editor, part: str, into: int, shown: str) -> None:
    editor.open(TEXT)
    line, character = spot(TEXT, part)
    found = editor.hover(line, character + into)
    assert shown in found and bool(found) == bool(shown)


def test_definition_leads_to_the_name_also_in_another_file(editor: Editor) -> None:
    (editor.folder / "shapes.conc").write_text("/// Round.\npub struct Ball { pub r: Int }\n", encoding="utf-8")
    text = "use shapes::Ball;\nfn main() {\n    let b = Ball { r: 1 };\n    emit(\"out\", b.r);\n}\n"
    assert editor.open(text) == []
    for line, character, at in ((2, 13, (1, 11)), (3, 18, (1, 22))):
        found = editor.at("definition", line, character)
        start = found["range"]["start"]
        assert (found["uri"], (start["line"], start["character"])) == (editor.uri("shapes.conc"), at)
    local = editor.at("definition", 3, 16)
    assert local["uri"] == editor.uri("a.conc") and local["range"]["start"] == {"line": 2, "character": 8}


def test_text_of_the_editor_comes_before_the_file(editor: Editor) -> None:
    (editor.folder / "shapes.conc").write_text("pub fn old() {}\n", encoding="utf-8")
    text = "fn main() { shapes::new(); }\n"
    assert [d["code"] for d in editor.open(text)] == ["E1004"]
    editor.open("pub fn new() {}\n", "shapes.conc")
    assert editor.diagnostics("a.conc") == []


@pytest.mark.parametrize(
    ("line", "some", "none"),
    [
        ("    p.", ["x", "y", "far", "to_string"], ["add", "len"]),
        ("    p.f", ["far"], ["add"]),
        ("    face.", ["len", "split", "to_upper"], ["push", "x"]),
        ("    [1, 2].map(|v| v.", ["abs", "to_string"], ["len"]),
        ("    Sort::", ["Near", "Far"], ["add"]),
        ("    let s = Sort::", ["Near", "Far"], ["add"]),
        ("    std::math::", ["sqrt", "floor"], ["p"]),
        ("    std::", ["math", "json", "tools"], ["p"]),
        ("    ", ["p", "face", "n", "add", "Point", "emit", "main"], ["far", "a"]),
        ("    if (n > 1) { let inner = 2; in", ["inner", "n"], ["far"]),
        ("    let text = \"p.", [], ["x"]),
        ("    // p.", [], ["x"]),
        ("    nothing.", ["to_string"], ["x", "p"]),
    ],
)
def test_completion_of_a_line_being_typed(editor: Editor, line: str, some: list[str], none: list[str]) -> None:
    editor.open(with_line(line))
    found = editor.offers(LAST, len(line))
    assert set(some) <= set(found) and not set(none) & set(found)
    assert bool(found) == bool(some)


def test_what_a_server_has_stands_behind_its_name(editor: Editor) -> None:
    """Its tools, then the methods of every server (O-4.50 to O-4.53)."""
    editor.open('mcp Wiki { transport: "stdio", command: "w", fn page(title: String) -> String; }\nfn main() {\n    Wiki.\n}\n')
    items = sorted(editor.at("completion", 2, 9), key=lambda item: item["sortText"])
    assert [item["label"] for item in items] == [
        "page", "call", "messages", "prompt", "prompts", "resource", "resources", "to_string",
    ]  # fmt: skip
    assert items[5]["detail"] == "McpRef.resource<T>(uri: String) -> Result<T, ToolError>"


def test_fields_come_before_methods_with_their_signatures(editor: Editor) -> None:
    editor.open(with_line("    p."))
    items = editor.at("completion", LAST, 6)
    ordered = sorted(items, key=lambda item: item["sortText"])
    assert [(item["label"], item["detail"]) for item in ordered[:3]] == [
        ("x", "x: Int"), ("y", "y: Int"), ("far", "fn far(self) -> Int"),
    ]  # fmt: skip
    assert ordered[2]["documentation"]["value"] == "How far it is."


def test_a_local_named_like_a_built_in_comes_before_what_it_does_not_hide(editor: Editor) -> None:
    editor.open(with_line("    let spawned = 1; let println = 2; "))
    items = editor.at("completion", LAST, 38)
    ordered = [item["label"] for item in sorted(items, key=lambda item: item["sortText"])]
    assert ordered[:2] == ["println", "spawned"] and ordered.count("println") == 1


def test_private_fields_of_another_module_are_not_offered(editor: Editor) -> None:
    (editor.folder / "shapes.conc").write_text(
        "pub struct Ball { pub r: Int, q: Int }\npub fn ball() -> Ball { Ball { r: 1, q: 2 } }\nfn own() {}\n", encoding="utf-8"
    )
    line = "    let b = shapes::ball(); b."
    editor.open(f"fn main() {{\n{line}\n}}\n")
    found = editor.offers(1, len(line))
    assert "r" in found and "q" not in found
    line = "    shapes::"
    editor.edit(f"fn main() {{\n{line}\n}}\n")
    assert {"Ball", "ball"} <= set(editor.offers(1, len(line))) and "own" not in editor.offers(1, len(line))


def test_tools_of_the_library_show_nothing_that_nobody_wrote(editor: Editor) -> None:
    text = "model M { provider: offline, tools: [std::tools::ShellTool] }\nfn main() { let abc = 1; /* c */ab }\n"
    editor.open(text)
    assert not editor.hover(0, text.index("ShellTool") + 2).startswith("```concerto\ntool\n")
    assert "abc" in editor.offers(1, len("fn main() { let abc = 1; /* c */ab"))
    editor.edit("use std::tools::ShellTool;\nfn main() { let abc = ShellTool. }\n")
    assert all(item.get("detail") != "fn " for item in editor.at("completion", 1, len("fn main() { let abc = ShellTool.")))
    editor.edit("fn main() { let abc = 1; // c ab\n}\n")
    assert editor.offers(0, len("fn main() { let abc = 1; // c ab")) == []


def test_slots_of_a_memory(editor: Editor) -> None:
    text = (
        "context Plan { session { mut goal: String } }\nmemory plan: Memory = Memory::new().context(Plan);\n"
        "fn f() -> Result<String, Error> needs plan.goal { Ok(plan.goal) }\nfn main() { let _ = f(); plan. }\n"
    )
    editor.open(text)
    assert {"goal", "append"} <= set(editor.offers(3, 30))
    editor.edit(text.replace(" plan. }", " }"))
    for character in (45, 59):  # in the clause, in the body
        assert editor.at("hover", 2, character)["contents"]["value"] == "```concerto\nmut goal: String\n```"
        assert editor.at("definition", 2, character)["range"]["start"] == {"line": 0, "character": 29}


def test_fields_of_a_memory_block(editor: Editor) -> None:
    text = "memory log {\n    retain: 20, pin: [System], window: { turns: 4 },\n    \n}\nfn main() { let _ = log.len(); }\n"
    editor.open(text)
    shown = "```concerto\nretain: 20\nretain: { messages: 20, tokens: 4000 }\n```"
    assert editor.hover(1, 6) == f"{shown}\n\nthe bounds of the log (M-4.2)"
    assert editor.at("definition", 4, 21)["range"]["start"] == {"line": 0, "character": 7}
    assert editor.hover(4, 21).startswith("```concerto\nmemory log {\n    retain: 20")
    offered = editor.offers(2, 4)  # nothing is typed yet
    assert {"of", "summary", "pin", "store"} <= set(offered) and not {"retain", "window", "log", "emit"} & set(offered)
    editor.edit(text.replace("    \n}", "    sum\n}"))
    assert "summary" in editor.offers(2, 7)
    editor.edit(text.replace("    \n}", "    summary: { ev }\n}"))
    assert editor.offers(2, 17) == ["by", "every", "from", "inject", "role", "max_tokens", "prompt", "text"]
    editor.edit(text.replace("    \n}", "    summary: { by: M, ev }\n}"))
    assert "every" in editor.offers(2, 24)
    [entry] = [item for item in editor.about("documentSymbol") if item["name"] == "log"]
    assert entry["kind"] == 13  # a variable


def test_symbols_of_a_document_with_errors(editor: Editor) -> None:
    editor.open(TEXT + "fn broken() { let }\nmodel M { provider: openai }\n")
    found = {item["name"]: [inner["name"] for inner in item.get("children") or ()] for item in editor.about("documentSymbol")}
    assert found["Point"] == ["x", "y"] and found["impl Point"] == ["far"] and found["Sort"] == ["Near", "Far"]
    assert "main" in found and "M" in found


def test_formatting_is_one_edit_and_leaves_broken_text(editor: Editor) -> None:
    options = {"tabSize": 4, "insertSpaces": True}
    editor.open("fn main(){emit(\"o\",1)}")
    [edit] = editor.about("formatting", options=options)
    assert edit["newText"] == "fn main() { emit(\"o\", 1) }\n"
    assert edit["range"]["end"] == {"line": 0, "character": 22}
    editor.edit(edit["newText"])
    assert editor.about("formatting", options=options) == []
    editor.edit("fn main({")
    assert editor.about("formatting", options=options) is None


@pytest.mark.parametrize("text", ["", "fn", "\"", "/*", "\x00", "fn main() { x.", "fn main() { ((((", "}}}}", "\u2028\U0001f600"])
def test_any_text_is_answered(editor: Editor, text: str) -> None:
    editor.open(text)
    for question in ("hover", "definition", "completion"):
        editor.at(question, 0, len(text.encode("utf-16-le")) // 2)
        editor.at(question, 7, 7)
    editor.about("documentSymbol")
    editor.about("formatting", options={"tabSize": 4, "insertSpaces": True})


@pytest.mark.parametrize(("shutdown", "leave"), [(False, True), (True, False), (False, False)])
def test_leaving_without_both_words_is_exit_1(tmp_path: Path, shutdown: bool, leave: bool) -> None:
    assert Editor(tmp_path.resolve()).leave(shutdown=shutdown, exit=leave) == (1, "")


def test_functions_of_python_have_hover_definition_completion_and_an_outline(editor: Editor) -> None:
    text = (
        'extern python "shop.prices" {\n'
        "    /// Price of an article.\n"
        "    fn price(article: String, n: Int = 1) -> Result<Int, HostError>;\n"
        "    async fn rows() -> Stream<Int>;\n"
        "}\n"
        "fn main() {\n"
        '    let p = price("lamp");\n'
        "    pr\n"
        "}\n"
    )
    editor.open(text.replace("    pr\n", "    println(p);\n"))
    shown = editor.hover(6, 13)
    assert "fn price(article: String, n: Int = 1) -> Result<Int, HostError>" in shown and "Price of an article." in shown
    assert editor.at("definition", 6, 13)["range"]["start"] == {"line": 2, "character": 7}
    block = next(item for item in editor.about("documentSymbol") if item["name"] == "extern shop.prices")
    assert [child["name"] for child in block["children"]] == ["price", "rows"]
    assert editor.about("semanticTokens/full")["data"]
    editor.edit(text)
    assert "price" in editor.offers(7, 6)
