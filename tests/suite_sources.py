"""The suite's programs as texts: of each program file its sources, by a name that finds it."""

from __future__ import annotations

import functools
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.append(str(ROOT))


@functools.cache
def suite_sources() -> dict[str, str]:
    """Without those that the lexer refuses: what they hold has no class."""
    from concerto.compiler.diagnostics import Diagnostics
    from concerto.compiler.source import Source
    from concerto.compiler.syntax.lexer import lex

    from conformance import suite

    programs, errors = suite.load()
    assert not errors
    found = {}
    for program in programs:
        for name, text in program.files.items():
            if not name.endswith(".conc") or any("\ud800" <= character < "\ue000" for character in text):
                continue  # what is no UTF-8 is no text
            diagnostics = Diagnostics()
            lex(Source(name, text), diagnostics)
            if not diagnostics.has_errors:
                found[f"{program.ident}:{name}"] = text
    assert len(found) > 1800, "the suite has shrunk"
    return found
