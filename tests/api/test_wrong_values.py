"""Values of the wrong kind are told at once, not where they are used."""

from __future__ import annotations

import os
from typing import Any

import concerto
import pytest


@pytest.mark.parametrize("source", [3, b"fn main() {}"])
def test_a_source_that_is_no_text(source: Any) -> None:
    with pytest.raises(TypeError, match="takes a source text, not"):
        concerto.compile(source)


@pytest.mark.parametrize("script", ["abc", {"text": "a"}])
def test_a_script_that_is_no_list(script: Any) -> None:
    with pytest.raises(TypeError, match="offline_script is .*; it is a list of replies"):
        concerto.compile("pub fn f() {}").session(offline_script=script)


@pytest.mark.parametrize("reply", [{"text": None}, {"tool_calls": None}, {"error": None}])
def test_a_part_that_is_nil_counts_as_absent(reply: Any) -> None:
    with pytest.raises(ValueError, match="scripted reply 0: expected one of text, chunks, tool_calls, error"):
        concerto.compile("pub fn f() {}").session(offline_script=[reply])


class Fake:
    """Has no method that an option asks for."""


class Near:
    """An embedder with this baseline."""

    def __init__(self, baseline: Any) -> None:
        self.baseline = baseline

    def embed(self, texts: list[str]) -> list[list[float]]:
        return [[1.0] for _ in texts]


PLAIN = concerto.compile('@test("one") fn one() {}\npub fn f() {}')
JOURNALS = ("record", "replay", "extend", "store", "redact", "faults")
STORE = "an object with the methods head, entries, turns, views, commit, remove, keys, expire and close"
WRONG = [
    ({"permissions": {"net": True}}, "permissions is {'net': True}; it is a Permissions, or None"),
    ({"budgets": {"steps": 1}}, "budgets is {'steps': 1}; it is a Budgets, a SharedBudget, a list of them, or None"),
    ({"budgets": {}}, "budgets is {}; it is a Budgets, a SharedBudget, a list of them, or None"),
    ({"offline": "no"}, "offline is 'no'; it is a bool"),
    ({"offline": 0}, "offline is 0; it is a bool"),
    ({"connections": 3}, "connections is of the type int; it is a mapping of names of connections to their fields"),
    ({"connections": {"openai": "sk-secret"}}, "connections of 'openai' is of the type str; it is a mapping of fields"),
    ({"agents": {"x": 1}}, "agents of 'x' is of the type int; it is a mapping of fields"),
    ({"mcp": ["x"]}, "mcp is of the type list; it is a mapping of names of MCP servers to their fields"),
    ({"mcp": {"x": 1}}, "mcp of 'x' is of the type int; it is a mapping of fields"),
    ({"mcp_pins": 5}, "mcp_pins is 5; it is the path of a file of `concerto pin`, or None"),
    ({"browser": "firefox"}, "browser is 'firefox'; it is a Browser, or None"),
    ({"pricing": 3}, "pricing is of the type int; it is a mapping of ids of models to prices"),
    ({"pricing": {"m": 3}}, "pricing of 'm' is of the type int; it is the numbers input_per_million and output_per_million"),
    ({"pricing": {"m": {"input": 1}}}, "pricing of 'm' is {'input': 1}; it is the numbers"),
    ({"env": 3}, "env is of the type int; it is a mapping of str to str, or None"),
    ({"env": {"KEY": 3}}, "env of 'KEY' is of the type int; it is a str"),
    ({"env": {3: "x"}}, "env has the key 3; it is a mapping of str to str"),
    ({"seed": "x"}, "seed is 'x'; it is an int, or None"),
    ({"seed": True}, "seed is True; it is an int, or None"),
    ({"emit_timeout_ms": "1"}, "emit_timeout_ms is '1'; it is an int of at least 0, or None"),
    ({"emit_mode": "zz"}, "emit_mode is 'zz'; it is Immediate() or Buffered(…)"),
    ({"emit_mode": concerto.Buffered}, "it is Immediate() or Buffered(…)"),
    ({"stores": {"durable": 1}}, f"stores of 'durable' is of the type int; it is {STORE}"),
    ({"stores": {"durable": Fake()}}, f"stores of 'durable' is of the type Fake; it is {STORE}"),
    ({"embedders": {"x": 1}}, "embedders of 'x' is of the type int; it is an object with the method embed"),
    ({"embedders": {"x": Near(1.0)}}, "it is an object with the method embed; its baseline, if any, is"),
    ({"embedders": {"x": Near(float("nan"))}}, "its baseline, if any, is a number from -1 to below 1"),
    ({"embedders": {"x": Near("0.2")}}, "its baseline, if any, is a number from -1 to below 1"),
    ({"summarizers": {"x": 1}}, "summarizers of 'x' is of the type int; it is an object with the method fold"),
    ({"token_counter": 3}, "token_counter is 3; it is an object with the method count, or None"),
    ({"record": 3}, "record is 3; it is the path of a new effect file, or None"),
    ({"replay": b"x"}, "replay is b'x'; it is the path of an effect file, or None"),
    ({"extend": "no"}, "extend is 'no'; it is a bool"),
    ({"store": 4}, "store is 4; it is the path of a run store, or None"),
    ({"redact": "x"}, "redact is 'x'; it is a list of paths"),
    ({"redact": [3]}, "redact is [3]; it is a list of paths"),
    ({"faults": 3}, "faults is of the type int; it is a mapping of effect keys to failures"),
    ({"faults": {3: "429"}}, "faults has the key 3; it is a mapping of effect keys to failures"),
    ({"faults": {"1.1:1": "zz"}}, "faults of '1.1:1' is of the type str; it is a status such as '429', or a name"),
    ({"code_cache": True}, "code_cache is True; it is the path of a directory, or None"),
    ({"stdin": 3}, "stdin is 3; it is a str, bytes, a file with a descriptor such as sys.stdin, or None"),
    ({"tier": "zz"}, "tier is 'zz'; it is 'interp' or 'both'"),
    ({"tier": ["interp"]}, "tier is ['interp']; it is 'interp' or 'both'"),
]


@pytest.mark.parametrize(("options", "words"), WRONG)
def test_an_option_that_is_not_what_it_must_be(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as caught:
        PLAIN.session(**options)
    assert words in str(caught.value) and "sk-secret" not in str(caught.value)
    if not {"emit_mode", "emit_timeout_ms", *JOURNALS} & set(options):  # tests have none of these
        with pytest.raises(ValueError) as caught:
            PLAIN.test(**options)
        assert words in str(caught.value)


def test_wrong_options_are_told_although_no_test_runs() -> None:
    with pytest.raises(ValueError, match="budgets is 3"):
        PLAIN.test("nothing is called so", budgets=3)  # type: ignore[arg-type]


def test_every_option_is_checked() -> None:
    from concerto.api.options import RULES, RunOptions

    wrong = {name for options, _ in WRONG for name in options}
    assert set(RULES) == set(RunOptions.__annotations__) == wrong | {"offline_script"}


@pytest.mark.parametrize("name", JOURNALS)
def test_tests_and_runs_that_go_on_have_no_journal_of_their_own(name: str) -> None:
    with pytest.raises(TypeError, match=f"{name}: tests are not recorded"):
        PLAIN.test(**{name: None})
    if name != "store":  # which names the store of the run there
        with pytest.raises(TypeError, match=f"{name}: a run that goes on has the journal that it began with"):
            concerto.resume("1", store="none.db", **{name: None})


@pytest.mark.parametrize(
    "options",
    [
        dict.fromkeys(["permissions", "budgets", "offline_script", "env", "seed", "emit_timeout_ms", "token_counter"]),
        {"code_cache": None},
        {"emit_mode": concerto.Immediate(), "offline": True, "seed": 3, "env": os.environ, "tier": "interp"},
        {"pricing": {"m": {"input_per_million": 1, "output_per_million": 0.5}}, "connections": {}, "offline_script": ("a",)},
    ],
)
def test_options_that_are_right(options: Any) -> None:
    with PLAIN.session(**options) as session:
        assert session.call("f") is None


DEEP = """
fn nested(n: Int) -> Any { let mut a: Any = [1]; for _i in 0..n { a = [a]; } a }
pub fn deep(n: Int) -> Any { nested(n) }
pub fn failing(n: Int) -> Result<Any, Any> { Err(nested(n)) }
pub fn one(_x: Any) -> Int { 1 }
fn main() -> Result<Any, Any> { if std::env::args().is_empty() { Ok(nested(900)) } else { Err(nested(900)) } }
"""


def test_what_is_nested_too_deep_is_refused_on_both_ways() -> None:
    endless: list[Any] = []
    endless.append(endless)
    with concerto.compile(DEEP).session() as session:
        for function in ("deep", "failing"):
            with pytest.raises(concerto.Panic) as panic:
                session.call(function, 900)
            assert panic.value.code == "P103"
        with pytest.raises(TypeError, match=r"argument '_x' of one: it is nested too deep, or holds itself"):
            session.call("one", endless)
        for arguments in ((), ("x",)):
            result = session.run(*arguments)
            assert (result.ok, result.exit_code, result.error.code) == (False, 1, "P103")
        assert session.call("one", [[1]]) == 1


@pytest.mark.parametrize("words", [(5,), (None,), ("a", b"b")])
def test_arguments_of_main_that_are_no_texts(words: Any) -> None:
    program = concerto.compile('fn main() { emit("args", std::env::args()); }')
    with program.session() as session:
        with pytest.raises(TypeError, match="run: the arguments of a program are str, given (int|NoneType|bytes)"):
            session.run(*words)
        assert session.run("a").emits == [concerto.Emit("args", ["a"])]
