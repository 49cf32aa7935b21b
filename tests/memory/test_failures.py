"""Ten ways in which memories of conversations are known to fail their users: the naive design fails each, and ours does not.

`examples/memory/` has a program for each; tests/examples runs them.
"""

from __future__ import annotations

from contextlib import closing, nullcontext
from pathlib import Path

import pytest
from concerto.runtime.memory.entries import check_units
from concerto.runtime.memory.failures import MemoryFailure
from concerto.runtime.memory.stores.sqlite import SqliteStore

from .naive import Careful, Naive, looked_up, said

EXAMPLES = Path(__file__).resolve().parents[2] / "examples" / "memory"


def finished(*calls):
    """Calls one after another, each to its end."""
    for call in calls:
        for _ in call:
            """What it waits for comes at once."""


def texts(memory):
    return [message.content for message in memory.messages()]


def paired(messages):
    try:
        check_units(messages)
    except MemoryFailure:
        return False
    return True


def trimming(design, folder):
    memory = design(bound=2)
    finished(memory.call("weigh it", [looked_up("500"), said("500 g")]))
    for n in range(3):
        assert paired(memory.request())
        finished(memory.call(f"q{n}", [said(f"a{n}")]))


def interrupted(design, folder):
    memory = design()
    broken = memory.call("weigh it", [looked_up("500"), said("500 g")])
    next(broken)
    next(broken)  # the tool has run; then the process loses its connection
    broken.close()
    finished(memory.call("again", [said("500 g")]))
    assert texts(memory) == ["again", "500 g"]


def evicted(design, folder):
    memory = design(bound=4, rules="Never give legal advice.")
    for n in range(20):
        finished(memory.call(f"q{n}", [said(f"a{n}")]))
        assert memory.request()[0].content == "Never give legal advice."


def failed_summary(design, folder):
    def broken(messages):
        raise ValueError("429 Too Many Requests")

    memory = design(bound=2, summarise=broken)
    finished(memory.call("q0", [said("a0")]), memory.call("q1", [said("a1")]))
    assert texts(memory) == ["q0", "a0", "q1", "a1"]


def attempts(design, folder):
    memory = design()
    failed = memory.call("order", [said("Sure!"), said('{"count": 2}')])
    next(failed)
    failed.close()  # the reply is no JSON: the call is made again
    finished(memory.call("order", [said('{"count": 2}')]))
    assert texts(memory) == ["order", '{"count": 2}']


def concurrent(design, folder):
    memory = design()
    one, other = memory.call("q1", [said("a1")]), memory.call("q2", [said("a2")])
    next(one)
    next(other)
    finished(one, other)
    assert texts(memory) in (["q1", "a1", "q2", "a2"], ["q2", "a2", "q1", "a1"])


def stored(design, folder):
    return nullcontext({}) if design is Naive else closing(SqliteStore(str(folder / "memory.db")))


def users(design, folder):
    with stored(design, folder) as store:
        kept_apart(design, store)


def kept_apart(design, store):
    people = [("a", "b:c"), ("a:b", "c"), ("A", "b:c")]
    memories = [design(store=store, user=user) for user in people]
    for user, memory in zip(people, memories, strict=True):
        finished(memory.call(f"I am {user}", [said("hello")]))
    for user, memory in zip(people, memories, strict=True):
        assert texts(memory) == [f"I am {user}", "hello"]


def growth(design, folder):
    with stored(design, folder) as store:
        whole = design(store=store)
        for n in range(300):
            finished(whole.call(f"q{n}", [said(f"a{n}")]))
        assert len(whole.messages()) == 600
        assert design(bound=10, store=store).loaded() < 50


def tokens(design, folder):
    def cost(prompt, *replies):
        memory = design()
        finished(memory.call(prompt, [*replies, said("ok")]))
        return memory.tokens()

    assert cost("東京タワーはどこですか") > cost("abcdefghijk")
    assert cost("q", looked_up("r", arguments={"path": "x" * 400})) > cost("q", looked_up("r")) + 90
    assert cost("a") > 0


def formats(design, folder):
    memory = design()
    finished(memory.call("q", [said("a")]))
    text = memory.dump()
    for bad in (text.replace('"v": 1', '"v": 4').replace('"v":3', '"v":4'), '{"v": 4, "entries": []}', text[:-5]):
        with pytest.raises(ValueError):
            memory.load(bad)
        assert texts(memory) == ["q", "a"]


FAILURES = [
    trimming, interrupted, evicted, failed_summary, attempts, concurrent, users, growth, tokens, formats,
]  # fmt: skip


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.__name__)
def test_it_does_not_happen_here(failure, tmp_path):
    failure(Careful, tmp_path)


@pytest.mark.parametrize("failure", FAILURES, ids=lambda failure: failure.__name__)
def test_the_naive_design_fails(failure, tmp_path):
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        failure(Naive, tmp_path)


def test_each_has_its_program():
    assert {path.stem for path in EXAMPLES.glob("*.conc")} == {failure.__name__ for failure in FAILURES}


def test_the_programs_are_numbered_and_listed():
    listed = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for number, failure in enumerate(FAILURES, 1):
        source = (EXAMPLES / f"{failure.__name__}.conc").read_text(encoding="utf-8")
        assert source.startswith(f"// Failure {number}: ")
        assert f"| {number} | [`{failure.__name__}.conc`]({failure.__name__}.conc) |" in listed
