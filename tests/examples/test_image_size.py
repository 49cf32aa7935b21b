"""Images are smaller than the sources they come from, names of locals included (V-3.7)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from concerto.compiler.pipeline import Compilation, compile_source
from concerto.compiler.project import locate
from concerto.vm.bytecode.encoding import encode

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
COMMENT = re.compile(r"(?m)^\s*//(?!/).*\n|[ \t]+//[^\"\n]*$")  # the image has documentation comments, `///` (V-3.11)
LARGE = ["large/main.conc", "large/adventure/mod.conc", "large/rules/mod.conc", "large/rules/sets.conc", "large/schema/mod.conc"]


def compiled(name: str) -> Compilation:
    path = EXAMPLES / name
    location = locate(str(path))
    return compile_source(path.read_bytes(), location.file, read=location.read, manifest=location.manifest)


@pytest.mark.parametrize("name", LARGE)
def test_an_image_is_smaller_than_its_source_without_comments(name: str) -> None:
    made = compiled(name)
    texts = [source.text for file, source in made.sources.items() if file.endswith(".conc")]
    assert sum(text.count("\n") for text in texts) > 200 and made.image is not None
    bare = sum(len(COMMENT.sub("", text).encode()) for text in texts)
    made.image.source = []
    named = len(encode(made.image))
    made.image.strip()
    assert len(encode(made.image)) < named < bare
