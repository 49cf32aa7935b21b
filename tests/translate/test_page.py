"""The page about the tiers shows what the compiler and the translator make of its source (V-7.2)."""

from __future__ import annotations

from pathlib import Path

from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode.disasm import disassemble
from concerto.vm.interp.link import load_image
from concerto.vm.jit.tier import Translation

PAGE = Path(__file__).resolve().parent.parent.parent / "docs" / "guide" / "tiers.md"


def indented(text: str) -> str:
    return "".join(f"    {line}".rstrip() + "\n" for line in text.splitlines())


def test_the_page_is_what_is_generated() -> None:
    page = PAGE.read_text(encoding="utf-8")
    block = page.split("## Source\n")[1].split("\n## ")[0].strip("\n")
    source = "\n".join(line.removeprefix("    ") for line in block.splitlines()) + "\n"
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None
    listing = disassemble(compiled.image)
    code = listing[listing.index('function 0 "longest"') : listing.index("\nfunction 1 ")]
    assert indented(code) in page
    translation = Translation(load_image(compiled.image))
    for metered, heading in ((False, "## Python"), (True, "## Python, with fuel counted")):
        part = translation.whole(0, metered)
        assert part is not None
        assert heading in page
        assert indented(part.source) in page, indented(part.source)
