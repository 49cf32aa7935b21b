"""Every question at every kind of cut of real programs: there is always an answer, and it points into the text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from concerto.compiler.incremental import CheckCache
from concerto.lsp.analysis import UTF8, UTF16, UTF32, analyse, definition_of, occurrence_at, offset_at, position_at
from concerto.lsp.features import complete, hover_at, outline

from ..command import EXAMPLES


def cuts(text: str) -> list[tuple[str, int]]:
    """Texts as they are while somebody types, and where the cursor is."""
    found = []
    for at in range(0, len(text), max(1, len(text) // 6)):
        found += [(text[:at], at), (text[:at] + "." + text[at:], at + 1), (text[:at] + text[at + 9 :], at)]
        found += [(text[:at] + "::" + text[at:], at + 2), (text[:at] + "{" + text[at:], at + 1)]
    return found


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*.conc"))[:4], ids=lambda path: path.stem)
def test_questions_about_cut_text(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    offered = shown_at = led_to = 0
    for cut, cursor in cuts(text):
        analysis = analyse(str(path), cut, {}, CheckCache())
        for at in (cursor, len(cut), *range(0, len(cut), max(1, len(cut) // 20))):
            shown = hover_at(analysis, at)
            assert shown is None or shown[0].start <= at <= shown[0].end
            shown_at += shown is not None
            found = occurrence_at(analysis, at)
            span = definition_of(found) if found is not None else None
            assert span is None or span.end <= len(analysis.project.sources.get(span.file, analysis.source).text)
            led_to += span is not None
        if analysis.tree is not None:
            assert all(entry.span.start <= entry.name_span.start <= entry.span.end for entry in outline(analysis.tree))
        offered += bool(complete(cut, cursor, lambda changed: analyse(str(path), changed, {}, CheckCache())))
    assert min(offered, shown_at, led_to) > 5, (offered, shown_at, led_to)


@pytest.mark.parametrize("encoding", [UTF8, UTF16, UTF32])
def test_positions_there_and_back(tmp_path: Path, encoding: str) -> None:
    source = analyse(str(tmp_path / "a.conc"), "a\u00e9\U0001f600b\r\n\n\u2028x", {}, CheckCache()).source
    for offset in range(len(source.text) + 1):
        if source.text[offset - 1 : offset + 1] != "\r\n":
            assert offset_at(source, *position_at(source, offset, encoding), encoding) == offset
    assert offset_at(source, 0, 99, encoding) == 4  # before the line end
    assert offset_at(source, 9, 0, encoding) == len(source.text)


def test_a_position_inside_a_pair_is_its_beginning(tmp_path: Path) -> None:
    source = analyse(str(tmp_path / "a.conc"), "\U0001f600b", {}, CheckCache()).source
    assert [offset_at(source, 0, n, UTF16) for n in range(4)] == [0, 0, 1, 2]


def test_a_module_is_looked_at_as_a_part_of_its_program(tmp_path: Path) -> None:
    manifest = '[project]\nname = "p"\nversion = "1"\nentry = "src/main.conc"\n'
    (tmp_path / "Concerto.toml").write_text(manifest, encoding="utf-8")
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "main.conc").write_text("mod part;\nconst SIZE: Int = 3;\nfn main() { part::f(); }\n", encoding="utf-8")
    text = "pub fn f() { emit(\"o\", super::SIZE); }\n"
    part = tmp_path / "src" / "part.conc"
    part.write_text(text, encoding="utf-8")
    analysis = analyse(str(part), text, {}, CheckCache())
    assert analysis.file == "part.conc" and analysis.own == []
    shown = hover_at(analysis, text.index("SIZE"))
    assert shown is not None and "const SIZE: Int = 3" in shown[1]


def test_completion_behind_a_long_word(tmp_path: Path) -> None:
    """A search from each of its letters to its end would take minutes."""
    path = str(tmp_path / "a.conc")
    text = f'fn main() {{ let long = 1; println("{"a" * 100_000}"); lo }}\n'
    began = time.perf_counter()
    offers = complete(text, text.index("lo }") + 2, lambda changed: analyse(path, changed, {}, CheckCache()))
    assert time.perf_counter() - began < 10
    assert "long" in {offer.name for offer in offers}
