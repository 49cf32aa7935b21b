"""Nothing a program prints moves the cursor of a terminal, hides text or forges a line of a log (G-2.19, G-10.4)."""

from __future__ import annotations

import json
import sys
import unicodedata
from collections.abc import Callable

import pytest

ESCAPES = [
    "\x1b[2J", "\x1b[H", "\x1b[1A", "\x1b[2K\r", "\x1b[31m", "\x1b[8m", "\x1b[0;0H", "\x1b[?1049h", "\x1b[6n", "\x1b[5;1r",
    "\x1b]0;title\x07", "\x1b]8;;http://x\x1b\\a", "\x1b]52;c;eA==\x07", "\x1bP1$r\x1b\\", "\x1bc", "\x1b7\x1b8", "\x1b(0",
    "\x1b#8", "\x9b2J", "\x9d0;t\x9c", "\x90q\x9c", "\x8d", "\x85", "\r", "\x08\x08", "\x07", "\x0b", "\x0c", "\x00", "\x7f",
    "\x0e\x0f", "\u202a", "\u202b", "\u202d", "\u202e", "\u2066", "\u2067", "\u2068", "\u2069", "\u200e", "\u200f", "\u061c",
    "\u2028", "\u2029",
]  # fmt: skip
LAYOUT = "\n\t"


def harmless(text: str) -> bool:
    """Whether a terminal shows every character where it stands."""
    return all(c in LAYOUT or unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp") for c in text)


def test_there_are_forty_sequences() -> None:
    assert len(set(ESCAPES)) >= 40 and not any(map(harmless, ESCAPES))


@pytest.mark.parametrize("end", ["panic(all)", "throw RuntimeError::new(all)"])
def test_no_sequence_reaches_a_terminal(
    cli: Callable[..., tuple[int, str, str]], write: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch, end: str
) -> None:
    texts = ", ".join("\"" + "".join(f"\\u{{{ord(c):x}}}" for c in text) + "\"" for text in ESCAPES)
    write("a.conc", f"""fn main() -> Result<Nil, Error> {{
        let texts = [{texts}];
        let all = texts.join("|");
        for text in texts {{ println(text); emit(text, text); std::log::warn("a${{text}}[ERROR] forged"); }}
        {end}
    }}""")
    plain = cli("run", "--offline", "a.conc")
    assert ESCAPES[0] in plain[1], "a pipe gets it as it is"
    logged = [line for line in plain[2].splitlines() if line.startswith("[WARN]")]
    assert len(logged) == len(ESCAPES) and not [line for line in plain[2].split("\n") if line.startswith("[ERROR]")]
    assert all(map(harmless, logged))
    monkeypatch.setenv("NO_COLOR", "1")  # the command's own colours are not what this is about
    for stream in (sys.stdout, sys.stderr):
        monkeypatch.setattr(type(stream), "isatty", lambda stream: True)
    for words in (["--debug"], ["--emit-format", "json"]):
        _, out, err = cli("run", "--offline", *words, "a.conc")
        assert harmless(out) and harmless(err)
        if words[0] == "--emit-format":
            rows = [json.loads(line) for line in out.splitlines() if line.startswith("{")]
            assert len(rows) >= len(ESCAPES)


def test_tests_give_no_orders_to_a_terminal(
    cli: Callable[..., tuple[int, str, str]], write: Callable[[str, str], str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write("a.conc", """
        @test("said \\u{1b}[2J") fn says() { emit("a\\u{1b}[31m", "x\\u{1b}[2Jy"); }
        @test("failed") fn fails() { panic("bad\\u{1b}[2Jz"); }
    """)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda stream: True)
    _, out, _ = cli("test", "--debug", "a.conc")
    assert harmless(out) and "bad" in out and "2Jy" in out
