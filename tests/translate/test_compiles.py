"""What the translator writes is Python: of a text that is none nobody is told, its function stays with the interpreter."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.vm.interp.link import load_image
from concerto.vm.jit import tier
from concerto.vm.jit.tier import Translation

from .tiers import observed

ROOT = Path(__file__).resolve().parent.parent.parent
SOURCES = sorted([*(ROOT / "benches" / "programs").rglob("*.conc"), *(ROOT / "examples").glob("*.conc")])
TOO_DEEP = ("too many statically nested blocks", "too many nested parentheses")

# The second write unshares an element while variables hold a field of the first one.
TWO_FIELDS = """
struct Line { busy: Bool, count: Int, tags: Array<Int> }
struct World { lines: Array<Line>, size: Int }
impl World {
    fn enter(mut self, at: Int) -> Int {
        self.lines[at].count += 1;
        self.lines[at].busy = at == 1;
        self.lines[at].tags[0] += self.lines[at].count;
        self.lines[at].tags.push(at);
        self.lines[(at + 1) % 2].tags[0] += 1;
        self.lines[at].tags[0]
    }
}
fn main() {
    let line = Line { busy: false, count: 0, tags: [0] };
    let mut world = World { lines: [line, line], size: 0 };
    let mut sum = 0;
    let mut kept: Array<World> = [];
    for at in 0..200 { sum += world.enter(at % 2); if at % 40 == 0 { kept.push(world); } }
    emit("sum", sum);
    emit("lines", world.lines.map(|line| [line.count, line.tags[0], line.tags.len()]));
    emit("kept", kept.map(|one| [one.lines[0].count, one.lines[1].count, one.lines[0].tags[0], one.lines[1].tags.len()]));
}
"""


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that were compiled; one that is no Python fails the test."""
    texts: list[str] = []

    def checked(text: str, *words: Any, **more: Any) -> Any:
        texts.append(text)
        try:
            return compile(text, *words, **more)
        except SyntaxError as error:
            assert error.msg in TOO_DEEP, f"{error}:\n{text}"
            raise

    monkeypatch.setattr(tier, "compile", checked, raising=False)
    return texts


def test_everything_that_is_translated_compiles(compiled: list[str]) -> None:
    for path in SOURCES:
        image = compile_source(path.read_bytes(), path.name).image
        if image is None:
            continue  # a part of a project
        translation = Translation(load_image(image))
        for number in range(len(translation.program.codes)):
            for metered in (False, True):
                translation.whole(number, metered)
                for head in translation.loops(number, metered):
                    translation.loop(number, head, metered)
    assert len(compiled) > 1_000


def test_two_fields_of_an_element_are_written(compiled: list[str]) -> None:
    interpreted, translated = (observed(TWO_FIELDS, name) for name in ("interp", "both"))
    assert interpreted == translated
    assert any("World" not in text and ".f1" in text for text in compiled)
