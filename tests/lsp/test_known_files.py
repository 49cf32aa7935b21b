"""What an editor shows does not depend on which texts the server has looked at before."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("pygls")

from concerto.compiler.incremental import CheckCache
from concerto.lsp.analysis import analyse, definition_of, occurrence_at
from concerto.lsp.features import complete, hover_at
from concerto.lsp.semantic import tokens

from ..command import EXAMPLES
from .editor import Editor

MAIN = EXAMPLES / "desk" / "main.conc"
LARGE = EXAMPLES / "large" / "main.conc"


def shown(path: Path, text: str, cache: CheckCache, step: int) -> list[object]:
    """Diagnostics, colours, and at every `step`-th word its hover and definition."""
    analysis = analyse(str(path), text, {}, cache)
    places = [match.start() for match in re.finditer(r"[A-Za-z_]\w*", text)][::step]
    occurrences = [occurrence_at(analysis, place) for place in places]
    definitions = [one and definition_of(one) for one in occurrences]
    return [analysis.diagnostics, tokens(analysis), [hover_at(analysis, place) for place in places], definitions]


@pytest.mark.parametrize("path", [MAIN, LARGE], ids=["desk", "large"])
def test_a_server_that_knows_files_shows_the_same(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    start = text.index("fn main() {") + len("fn main() {")
    cache = CheckCache()
    # Sound, with an error, with a syntax error, sound again.
    for inserted in ("", " let fresh = 1;", " nothing();", " let = ;", "", " println(2);"):
        now = text[:start] + inserted + text[start:]
        assert shown(path, now, cache, 5) == shown(path, now, CheckCache(), 5)
    # Names in scope, and what stands behind the first path of the text.
    for place in (start, text.index("::") + 2):
        offers = complete(text, place, lambda changed: analyse(str(path), changed, {}, cache))
        assert offers
        assert offers == complete(text, place, lambda changed: analyse(str(path), changed, {}, CheckCache()))
    assert any(file.interface_model is not None for file in cache.texts.values()), "no body was left out"


def test_a_head_ends_before_a_body_that_was_left_out(tmp_path: Path) -> None:
    (tmp_path / "shapes.conc").write_text("/// How large.\npub fn area(r: Int) -> Int { r * r }\n", encoding="utf-8")
    path = tmp_path / "a.conc"
    cache = CheckCache()
    for number in range(3):
        text = f"use shapes::area;\nfn main() {{ println(area({number})); }}\n"
        analysis = analyse(str(path), text, {}, cache)
        assert not analysis.diagnostics
        hover = hover_at(analysis, text.index("area("))
        assert hover is not None and hover[1] == "```concerto\nfn area(r: Int) -> Int\n```\n\nHow large."
    assert cache.texts[next(key for key in cache.texts if key[0] == "shapes.conc")].interface_model is not None


def test_edits_in_two_documents_of_a_program_of_many_files(tmp_path: Path) -> None:
    """By the protocol: a diagnostic of one document comes and goes with edits of the other."""
    editor = Editor(tmp_path.resolve())
    for number in range(30):
        (tmp_path / f"m{number}.conc").write_text(f"pub fn f(x: Int) -> Int {{ x + {number} }}\n", encoding="utf-8")
    heads = "".join(f"mod m{number};\n" for number in range(30))
    assert editor.open(f"{heads}fn main() {{ println(m7::f(1)); }}\n") == []
    assert editor.open("pub fn f(x: Int) -> Int { x - 7 }\n", "m7.conc") == []
    editor.edit('pub fn f(x: Int) -> Int { "" }\n', "m7.conc")
    assert editor.diagnostics("a.conc") == []
    editor.edit("pub fn f(x: String) -> Int { x.len() }\n", "m7.conc")
    assert [one["code"] for one in editor.diagnostics("a.conc")] == ["E2009"]
    editor.edit("pub fn f(x: Int) -> Int { x }\n", "m7.conc")
    assert editor.diagnostics("a.conc") == []
    assert [one["code"] for one in editor.edit(f'{heads}fn main() {{ let x: String = m7::f(1); println(x); }}\n')] == ["E2001"]
    assert editor.leave() == (0, "")


def test_a_document_beside_the_folder_of_the_entry_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "Concerto.toml").write_text('[project]\nname = "p"\nversion = "1"\nentry = "src/main.conc"\n', encoding="utf-8")
    for folder in ("src", "tools"):
        (tmp_path / folder).mkdir()
    (tmp_path / "src" / "main.conc").write_text("fn main() { }\n", encoding="utf-8")
    path = tmp_path / "tools" / "x.conc"
    analysis = analyse(str(path), "fn main() { nothing; }\n", {}, CheckCache())
    assert (analysis.file, analysis.root) == ("x.conc", str(path.parent.resolve()))
    assert [one.code for one in analysis.diagnostics] == ["E1001"]


def test_a_document_of_an_entry_that_cannot_be_read_stands_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "Concerto.toml").write_text('[project]\nname = "p"\nversion = "1"\nentry = "main.conc"\n', encoding="utf-8")
    (tmp_path / "main.conc").write_text("fn main() { }\n", encoding="utf-8")

    def refuse(folder: str) -> list[str]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.listdir", refuse)  # a test may run as root, whom no mode of a file keeps out
    analysis = analyse(str(tmp_path / "x.conc"), "fn f() { nothing; }\n", {}, CheckCache())
    assert (analysis.file, [one.code for one in analysis.diagnostics]) == ("x.conc", ["E1001"])
