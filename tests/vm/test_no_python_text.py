"""Names and strings of a program never become text that Python runs (G-2.22): such text has fixed words and numbers."""

from __future__ import annotations

import builtins
import contextlib
import re
import types
from collections.abc import Iterator
from typing import Any

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.interp.link import load_image
from concerto.vm.values import objects

HOSTILE = ['__import__("os")', '");raise SystemExit("', "\\n    raise SystemExit\\n", "${7 * 6} {0} %s", "\\u{2028}'''"]
WORDS = {
    "def", "self", "shared", "False", "return", "values", "__init__", "copied", "share", "plain", "other", "new", "type", "value",
    "if", "not", "in",
}  # fmt: skip
SOURCE = """
struct Import__ { raise1: String, exec: Int }
schema Class__ { __dict__: String }
enum Lambda { None1(String), __bases__ { __init__: Int } }
fn __getattr__(eval: String) -> String { eval }
fn main() {
    let it = Import__ { raise1: "TEXT", exec: 1 };
    let other = Lambda::None1("TEXT");
    let table = { "TEXT": it.raise1 };
    emit("TEXT", __getattr__(table["TEXT"]));
    emit("TEXT", it.exec);
    emit("TEXT", other);
    emit("TEXT", Class__ { __dict__: "TEXT" });
    panic("TEXT");
}
"""


@contextlib.contextmanager
def texts_run() -> Iterator[list[str]]:
    """What `exec`, `eval` and `compile` are given as text within; code of imported modules is no text."""
    found: list[str] = []

    def watched(real: Any) -> Any:
        def call(source: Any, *rest: Any, **more: Any) -> Any:
            if not isinstance(source, types.CodeType):
                found.append(str(source))
            return real(source, *rest, **more)

        return call

    with pytest.MonkeyPatch.context() as patch:
        for name in ("exec", "eval", "compile"):
            patch.setattr(builtins, name, watched(getattr(builtins, name)))
        patch.setattr(objects, "_CONSTRUCTORS", {})
        yield found


@pytest.mark.parametrize("text", HOSTILE)
def test_only_words_of_the_machine_and_numbers(text: str) -> None:
    emits: list[Any] = []
    compiled = compile_source(SOURCE.replace("TEXT", text.replace('"', '\\"')).encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    host = Host(
        emit=lambda channel, value, by_runtime: by_runtime or emits.append(value), print=lambda text: None, env={},
        now=lambda: 0.0, sleep=None, random=lambda: 0.5, offline=True,
    )  # fmt: skip
    with texts_run() as run:
        outcome = run_offline(Session(load_image(decode(encode(compiled.image))), host))
    assert outcome.panic is not None and len(emits) == 4
    assert run
    for part in run:
        assert not [word for word in re.findall(r"\w+", part) if word not in WORDS and not re.fullmatch(r"f\d+", word)]
        assert not re.search(r"[\"'\\\\%{}\[\]]", part)
