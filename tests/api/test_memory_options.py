"""What a host gives to the memories of a program (M-8, M-9.1, M-11)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import concerto
import pytest

TEXT = """
memory log: Memory = Memory::new(2).summary("notes");
model M { provider: openai, base: "m-1", memory: log }
pub fn ask(q: String) -> Result<String, AgentError> { Ok(M.execute(q)?.text) }
pub fn summary() -> String { log.summary() ?? "none" }
pub fn size() -> Int { log.len() }
fn main() { }
"""
PROGRAM = concerto.compile(TEXT)


class Notes:
    """Joins what it is given."""

    def __init__(self) -> None:
        self.roles: list[str] = []

    def fold(self, previous: str, entries: list[Any]) -> str:
        self.roles += [entry.role for entry in entries]
        return " ".join([previous, *(entry.parts[0].text for entry in entries)]).strip()


class Later:
    async def fold(self, previous: str, entries: list[Any]) -> str:
        return f"later {len(entries)}"


def test_a_summariser_of_the_host_folds() -> None:
    notes = Notes()
    with PROGRAM.session(offline=True, offline_script=["1", "2", "3"], summarizers={"notes": notes}) as session:
        for question in "abc":
            session.call("ask", question)
        assert session.call("summary") == "a 1 b 2"
        assert session.call("size") == 2
    assert notes.roles == ["user", "assistant"] * 2


def test_a_summariser_of_the_host_may_wait() -> None:
    with PROGRAM.session(offline=True, offline_script=["1", "2"], summarizers={"notes": Later()}) as session:
        session.call("ask", "a")
        session.call("ask", "b")
        assert session.call("summary") == "later 2"


class Odd:
    def fold(self, previous: str, entries: list[Any]) -> str:
        return "a\ud800b\U000e0041"


def test_the_text_of_a_summariser_of_the_host_is_cleaned(capsys: pytest.CaptureFixture[str]) -> None:
    program = concerto.compile(TEXT + "pub fn show() { println(log.summary() ?? \"none\"); }")
    with program.session(offline=True, offline_script=["1", "2"], summarizers={"notes": Odd()}) as session:
        session.call("ask", "a")
        session.call("ask", "b")
        session.call("show")
        assert session.call("summary") == "a\ufffdb"
    assert capsys.readouterr().out == "a\ufffdb\n"


class Wrong:
    def fold(self, previous: str, entries: list[Any]) -> object:
        return object()


def test_a_summariser_that_gives_no_text_is_recorded_and_given_again(tmp_path: Path) -> None:
    for way in ("record", "replay"):
        options = {"offline": True, "offline_script": ["1", "2"], "summarizers": {"notes": Wrong()}, way: tmp_path / "x.jsonl"}
        with PROGRAM.session(**options) as session:
            session.call("ask", "a")
            session.call("ask", "b")
            assert session.call("summary") == "none"


@pytest.mark.parametrize("given", [{}, {"other": Notes()}])
def test_without_the_summariser_nothing_is_lost(given: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    with PROGRAM.session(offline=True, offline_script=["1", "2"], summarizers=given) as session:
        session.call("ask", "a")
        session.call("ask", "b")
        assert (session.call("summary"), session.call("size")) == ("none", 4)
    assert "the host gives no summariser of the name notes" in capsys.readouterr().err


COUNTED = """
memory log: Memory = Memory::new().retain(9, tokens: 100);
model M { provider: openai, base: "m-1", memory: log }
pub fn ask(q: String) -> Result<Array<Int>, AgentError> { M.execute(q)?; Ok(log.entries().map(|e| e.tokens)) }
fn main() { }
"""


class Counter:
    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def count(self, entry: Any, model: str) -> Any:
        self.seen.append((entry.role, model))
        text = entry.parts[0].text
        if text == "fail":
            raise ValueError("cannot")
        return {"zero": 0, "none": None, "huge": 10**20, "half": 2.5}.get(text, 50)


def test_a_counter_of_the_host_counts() -> None:
    """M-11.1, M-11.3: what it cannot count, the default counter does."""
    counter = Counter()
    script = [{"text": "r", "tokens_out": 7}] * 6
    with concerto.compile(COUNTED).session(offline=True, offline_script=script, token_counter=counter) as session:
        assert session.call("ask", "fail") == [5, 7]
        assert session.call("ask", "zero") == [5, 7, 5, 7]
        assert session.call("ask", "none") == [5, 7, 5, 7, 5, 7]
        assert session.call("ask", "huge") == [5, 7, 5, 7, 5, 7, 5, 7]
        session.call("ask", "half")
        assert session.call("ask", "said")[-4:] == [5, 7, 50, 7]
    assert counter.seen == [("user", "M")] * 6
