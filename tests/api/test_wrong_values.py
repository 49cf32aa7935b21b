"""Values of the wrong kind are told at once, not where they are used."""

from __future__ import annotations

from typing import Any

import concerto
import pytest


@pytest.mark.parametrize("source", [3, b"fn main() {}"])
def test_a_source_that_is_no_text(source: Any) -> None:
    with pytest.raises(TypeError, match="takes a source text, not"):
        concerto.compile(source)


@pytest.mark.parametrize("script", ["abc", {"text": "a"}])
def test_a_script_that_is_no_list(script: Any) -> None:
    with pytest.raises(TypeError, match="offline_script is a list of replies"):
        concerto.compile("pub fn f() {}").session(offline_script=script)


@pytest.mark.parametrize("reply", [{"text": None}, {"tool_calls": None}, {"error": None}])
def test_a_part_that_is_nil_counts_as_absent(reply: Any) -> None:
    with pytest.raises(ValueError, match="scripted reply 0: expected one of text, chunks, tool_calls, error"):
        concerto.compile("pub fn f() {}").session(offline_script=[reply])
