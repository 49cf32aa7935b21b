"""The rows of memory steps: what `check` accepts an image holds, the verifier passes and a run takes; what a row refuses, both
refuse."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import concerto
import pytest
from concerto.compiler.hints.manifest import EXAMPLES
from concerto.compiler.manifest import DEFAULTS, SUMMARY_KEYS
from concerto.runtime.effects.step_machine import FORMS
from concerto.runtime.memory.entries import Entry
from concerto.runtime.memory.policy import Policy, StepRecord
from concerto.runtime.memory.retention import RETAINING, RULES, Index, Retention, end_of_front, leaving
from concerto.runtime.memory.stores.protocol import Head
from concerto.runtime.records import Msg
from concerto.vm import memory_steps as rows
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.fields import Misshapen
from concerto.vm.bytecode.image import DEFAULT, ImageError
from concerto.vm.bytecode.shape import steps
from concerto.vm.interp.link import load_image
from concerto.vm.memory_steps import ACCEPTED, LOWS, STEPS, SUMMARY, Argument
from hypothesis import given, seed, settings
from hypothesis import strategies as st

MOST = 2**63 - 1
PROGRAM = """
const N: Int = 3;
model M {{ provider: offline }}
agent A {{ connector: "worker" }}
fn fold(before: String, new: Array<Message>) -> String {{ before }}
memory log: Memory = Memory::new(){chain};
pub fn ask() -> Int {{ log.append("user", "a"); log.append("user", "b"); log.len() }}
"""
# Values of a source by kind, and whether a row of the kind takes them.
COUNTS = {
    "N": True, "Zzz": False, "1": True, "2": True,
    str(MOST - 1): True, "0": False, "-1": False, "1.5": False, '"1"': False, "true": False,
}  # fmt: skip
DURATIONS = {
    "N": True, "Zzz": False, '"1ms"': True, '"30d"': True, "1": True, "0.001": True,
    '"0.6ms"': True, "0": False, '"0.4ms"': False, "-1": False,
    "1e308": False,
    f'"{"9" * 400}d"': False, '"1 d"': False, '""': False, "true": False, "9007199254741": False,
}  # fmt: skip
SHARES = {
    "Zzz": False, "0": True, "0.5": True, "1": True, "1.0": True, "1.01": False, "-0.1": False, '"1"': False, "1e308": False,
}  # fmt: skip
FUNCTIONS = {
    rows.TO_TEXT: {"|t| t": True, "|t| 1": False, "1": False},
    "fn(Message) -> Bool": {"|m| true": True, "|m| m.role == \"user\"": True, "|m| 1": False, "true": False},
    "fn(Array<Message>) -> Array<Message>": {"|ms| ms": True, "|ms| 1": False, "ms": False},
    "fn(Map<String, Any>) -> String?": {"|o| nil": True, '|o| "x"': True, "|o| 1": False},
    "fn(Observed) -> Bool": {"|g| true": True, "|g| 1": False},
    "fn(Observed) -> Learned": {"|g| Learned { content: 1 }": True, "|g| 1": False},
}
ATTACHING = {"M": True, "[M]": True, "[M, A, M]": True, "[]": True, "[log]": False, '["M"]': False, "fold": False}
TEXTS = {
    "was": {'"old"': True, '""': False, "1": False, '"log"': False},
    "store": {'"durable"': True, '""': False, '"none"': False, "true": False},
    "embed": {'"offline"': True, '""': False, '"none"': False},
}
# What stands beside an argument so that it may be there.
BESIDE = {"low": str(MOST)}
REQUIRED = {"": '"durable"', "rate": "rate: 0.5"}
CHAINS = {"ttl": '.store("durable")', "decay": '.store("durable")', "only": '.summary(fold, every: 1)'}


class Case(NamedTuple):
    """A chain with one argument of interest, its values, and its row."""

    row: Argument
    chain: str
    values: dict[str, bool]

    def __repr__(self) -> str:
        return self.row.image


def values(row: Argument) -> dict[str, bool]:
    if row.kind in (rows.WORD, rows.SWITCH):
        return {**dict.fromkeys(row.words, True), "Zzz": False, '"Zzz"': False, f'"{row.words[0]}"': True, "1": False}
    if row.kind == rows.SOME:
        every = ", ".join(row.words)
        return {"[]": True, f"[{every}, {every}]": True, f"[{every}, Zzz]": False, row.words[0]: False, "[1]": False}
    if row.kind == rows.REDACTOR:
        return {**dict.fromkeys(row.words, True), "Zzz": False, **FUNCTIONS[row.signature]}
    if row.kind in (rows.FUNCTION, rows.FUNCTIONS):
        return FUNCTIONS[row.signature]
    if row.kind == rows.TEXT:
        return TEXTS.get(row.image, {'"x"': True, '""': False, "1": False})
    kinds = {rows.COUNT: COUNTS, rows.DURATION: DURATIONS, rows.SHARE: SHARES, rows.NAMES: ATTACHING}
    return {"true": True, "false": True, "1": False} if row.kind == rows.FLAG else kinds[row.kind]


def cases() -> list[Case]:
    found = []
    for name, step in STEPS.items():
        for label, row in step.arguments.items():
            if label == "facts":
                continue  # patterns of a rule
            others = [REQUIRED.get(other, f"{other}: 1") for other in step.required if other != label]
            others += [BESIDE[label]] if label in BESIDE else []
            written = f"{label}: VALUE" if label else "VALUE"
            found.append(Case(row, f"{CHAINS.get(name, '')}.{name}({', '.join([*others, written])})", values(row)))
    for name, row in SUMMARY.items():
        if name in ("inject", "max_tokens"):
            found.append(Case(row, f".summary(fold, {name}: VALUE)", values(row)))
    every = {**COUNTS, **DURATIONS, "0.001": False, "9007199254741": True, "Evict": True, '"Evict"': True, "Zzz": False}
    found.append(Case(SUMMARY["every_ms"], ".summary(fold, every: VALUE)", every))
    found.append(Case(SUMMARY["role"], ".summary(fold, inject: Prefix, role: VALUE)", values(SUMMARY["role"])))
    found.append(Case(SUMMARY["from"], ".retain(9).summary(fold, from: VALUE)", values(SUMMARY["from"])))
    texts = {'"x"': True, '""': False, "1": False}
    found.append(Case(SUMMARY["prompt"], ".summary(fold, prompt: VALUE)", texts))
    texts = {'"{}"': True, '"a {} b"': True, '"x"': False, '"{}{}"': False}
    found.append(Case(SUMMARY["text"], ".summary(fold, text: VALUE)", texts))
    legal = {"by": "|o| nil", "when": "|g| true", "store": "|g| Learned { content: 1 }"}
    for name in legal:
        parts = ", ".join(f"{other}: {'VALUE' if other == name else value}" for other, value in legal.items())
        found.append(Case(rows.RULE[name], f'.learn("r", {parts})', FUNCTIONS[rows.RULE[name].signature]))
    return found


CASES = cases()
DRAWN = st.sampled_from(CASES).flatmap(lambda case: st.tuples(st.just(case), st.sampled_from([*case.values])))


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Where the durable store is."""
    before = os.getcwd()
    os.chdir(tmp_path_factory.mktemp("rows"))
    yield
    os.chdir(before)


def errors(source: str) -> list[str]:
    with pytest.raises(concerto.CompileError) as refused:
        concerto.compile(source)
    return [d.code for d in refused.value.diagnostics if d.severity == "error"]


def runs(program: concerto.Program) -> None:
    """The image that check let pass is sound as bytes too, and its memory works."""
    load_image(decode(encode(program._linked.image)))
    with program.session(offline=True) as session:
        assert type(session.call("ask")) is int


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_check_accepts_what_the_row_takes_and_a_run_takes_what_check_accepts(case: Case) -> None:
    for value, legal in case.values.items():
        source = PROGRAM.format(chain=case.chain.replace("VALUE", value))
        if legal:
            runs(concerto.compile(source))
        else:
            assert errors(source), source


@seed(1)
@settings(max_examples=150, deadline=None, database=None)
@given(st.lists(DRAWN, max_size=5))
def test_what_check_accepts_of_several_steps_runs(drawn: list[tuple[Case, str]]) -> None:
    """Whatever the steps say of each other."""
    source = PROGRAM.format(chain="".join(case.chain.replace("VALUE", value) for case, value in drawn))
    try:
        program = concerto.compile(source)
    except concerto.CompileError:
        return
    runs(program)


# Values of an image by kind, and whether a row of the kind takes them.
COUNT = {1: True, MOST: True, 0: False, MOST + 1: False, 1.5: False, "1": False}
SHARE = {0: True, 1: True, 0.5: True, -0.1: False, 1.1: False, float("nan"): False, "1": False}


def in_image(row: Argument) -> list[tuple[Any, bool]]:
    if row.kind in (rows.COUNT, rows.DURATION):
        return [*COUNT.items(), (True, False)]
    if row.kind == rows.SHARE:
        return [*SHARE.items(), (True, False)]
    if row.kind == rows.WORD:
        return [*((word, True) for word in row.words), ("Zzz", False), (["User"], False)]
    if row.kind == rows.SWITCH:
        return [*((word, word == row.words[-1]) for word in row.words), ("Zzz", False), (True, False)]
    if row.kind == rows.SOME:
        return [([], True), ([*row.words, *row.words], True), (["Zzz"], False), (row.words[0], False), ([1], False)]
    if row.kind in (rows.FUNCTION, rows.PLACE):
        return [([0, 1], True), ([0], False), ([0, -1], False), ([0, 1 << 31], False), ([0, True], False), (1, False)]
    if row.kind == rows.FUNCTIONS:
        return [([[0, 1], [0, 2]], True), ([], False), ([0, 1], False)]
    if row.kind == rows.REDACTOR:
        return [([*row.words, [0, 1]], True), ([], False), (["Zzz"], False), ("Pii", False)]
    if row.kind == rows.FLAG:
        return [(True, True), (False, False), (1, False)]
    return OTHERS.get(row.image, [("old", True), ("", False), (1, False)])


FACTS = [[["", "a*"]], ["M"], []]
OTHERS: dict[str, list[tuple[Any, bool]]] = {
    "allow_read": [(["M"], True), ([], True), (["M", "M"], False), ([""], False), ("M", False)],
    "allow_write": [(["M"], True), ([1], False)],
    "allow_facts": [([FACTS], True), ([], False), ([[[["", "*a"]], [], []]], False), ([[[["other", "a"]], [], []]], False)],
    "store": [
        ({"name": "s", "kind": "sqlite", "path": "p", "compress": True}, True),
        ({"name": "s", "kind": "redis", "url_env": "U"}, True),
        ({"name": "s"}, False), ({"name": "s", "kind": "redis"}, False), ({"name": "s", "kind": "x"}, False),
        ({"name": "s", "kind": "sqlite", "compress": False}, False), ({"name": "s", "kind": "sqlite", "more": 1}, False),
    ],
    "embed": [
        ({"name": "e", "kind": "offline"}, True), ({"name": "e", "kind": "connection"}, False), ("offline", False),
        ({"name": "e", "kind": "connection", "connection": "c", "model": "m"}, True),
    ],
    "keys": [(["a", "b"], True), ([], True), (["a", "a"], False)],
    "key_defaults": [({"a": ""}, False), ({}, False), ({"a": "x" * 1025}, False), ({"a": 1 << 63}, False), ({"a": 1.5}, False)],
    "summary": [
        ({"host": "h"}, True), ({"function": [0, 1], "every_turns": 1, "from": "Buffer", "inject": "Tool", "role": "User"}, True),
        ({}, False), ({"host": "h", "model": "m"}, False), ({"host": "h", "from": "Uncovered"}, False), ({"host": ""}, False),
        ({"host": "h", "text": "x"}, False), ({"host": "h", "every_ms": 0}, False), ({"host": "h", "whole": True}, False),
    ],
    "learn": [
        ([{"name": "r", "on": "turn", "by": [0, 1], "when": [0, 2], "store": [0, 3]}], True), ([], False),
        ([{"name": "r", "on": "turn", "by": [0, 1], "when": [0, 2]}], False),
        ([{"name": "r", "on": "turn", "by": [0, 1], "when": [0, 2], "store": [0, 3]}] * 2, False),
    ],
    "on": [([{"event": "Step", "with": [0, 1]}], True), ([{"event": "Zzz", "with": [0, 1]}], False),
           ([{"event": "Step", "with": [0, 1]}, {"event": "Step", "with": [0, 2]}], False)],
}  # fmt: skip
WITH = {"decay_rate": {"decay_per": 1}, "decay_per": {"decay_rate": 0}, "window_low": {"window": MOST}}


def beside(name: str) -> dict[str, Any]:
    """What a step of an image needs to be there."""
    if name.startswith("decay_"):
        return {"decay_rate": 0.5, "decay_per": 1}
    return {"recall": True} if name.startswith("recall_") else WITH.get(name, {})


@pytest.mark.parametrize("row", [row for row in rows.rows() if row.image in ACCEPTED], ids=lambda row: row.image)
def test_the_verifier_refuses_what_the_row_refuses_and_nothing_else(row: Argument) -> None:
    for value, legal in in_image(row):
        said = {**beside(row.image), row.image: value}
        if row.image == "window_low" and value == MOST:
            said["window"] = MOST
            legal = False  # it is not below its bound
        if legal:
            steps(said, DEFAULT)
        else:
            with pytest.raises(Misshapen):
                steps(said, DEFAULT)


WRONG = {
    "a step of another version": {"frob": 1},
    "a rate without its time": {"decay_rate": 0.5},
    "a floor without a rate": {"decay_floor": 0.5},
    "details of no recall": {"recall_k": 1},
    "a value for no key": {"keys": ["a"], "key_defaults": {"b": 1}},
    "a low bound of no window": {"window_low": 3},
    "the bound that stands beside the steps": {"retain": 3},
    "a context that stands beside the steps": {"context": 3},
    "a value that expires": {"made": [], "ttl": 1},
    "a value under another name": {"made": [], "was": "old"},
}


@pytest.mark.parametrize("name", WRONG)
def test_what_steps_say_of_each_other(name: str) -> None:
    with pytest.raises(Misshapen):
        steps(WRONG[name], DEFAULT)


@pytest.mark.parametrize(
    ("retain", "said", "legal"),
    [
        (3, {"retain_low": 2, "window": 3}, True), (3, {"retain_low": 3}, False), (None, {"retain_low": 3}, False),
        (3, {"window": 4}, False), (None, {"retain_low": 3, "bounds": {"retain": True}}, True), (None, {"window": 4}, True),
    ],
)  # fmt: skip
def test_bounds_of_a_foreign_image_are_as_check_lets_them_be(retain: int | None, said: dict[str, Any], legal: bool) -> None:
    image = concerto.compile(PROGRAM.format(chain=""))._linked.image
    image.memories[0].max_messages = retain
    image.memories[0].steps = said
    if legal:
        load_image(decode(encode(image)))
    else:
        with pytest.raises(ImageError, match="V119"):
            load_image(decode(encode(image)))


MANIFEST = '[agents.worker]\ntransport = "stdio"\ncommand = "true"\n[memory.defaults]\n{entry}\n'
WRITTEN = [
    "true", "false", "0", "1", "-1", str(MOST), str(MOST + 1), "9" * 30, "0.5", "1.5", "nan", "inf", "1e308", '""', '"x"', '"1d"',
    "[]", '["User"]', '["User", "User"]', '[["User"]]', '"Pii"', '"Record"', '"Fork"', '"durable"', '"offline"', "2020-01-01",
    "{ a = 1 }", f'"{"9" * 400}d"', '"{}"', '"Buffer"', '"System"', '"Evict"',
]  # fmt: skip
ENTRIES = [
    *(f"{name} = %s" for name in DEFAULTS),
    *(f'summary = {{ by = "h", {name} = %s }}' for name in SUMMARY_KEYS if name not in ("by", "model")),
]


@pytest.mark.parametrize("entry", ENTRIES)
def test_what_a_manifest_may_say_runs(entry: str, tmp_path: Any) -> None:
    taken = 0
    (tmp_path / "main.conc").write_text(PROGRAM.format(chain='.store("durable")' if entry.startswith("ttl") else ""))
    for value in WRITTEN:
        (tmp_path / "Concerto.toml").write_text(MANIFEST.format(entry=entry.replace("%s", value)))
        try:
            program = concerto.compile(path=str(tmp_path / "main.conc"))
        except concerto.CompileError:
            continue
        runs(program)
        taken += 1
    assert taken


@pytest.mark.parametrize("record", [Policy, *Policy.__mro__[1].__subclasses__()])
def test_the_fields_of_a_record_are_those_of_the_rows(record: type[StepRecord]) -> None:
    """No type is of a field that was; mypy asks for one where a field is used."""
    assert set(record.__annotations__) <= set(record.DEFAULTS)
    record()
    with pytest.raises(TypeError, match="has no field frob"):
        record(frob=1)


def test_every_function_of_a_step_has_a_form_at_the_machine() -> None:
    called = {row.image for row in rows.rows() if row.kind in (rows.FUNCTION, rows.FUNCTIONS, rows.REDACTOR)}
    assert set(FORMS) == {*called, "bound", *(f"learn_{name}" for name, row in rows.RULE.items() if row.kind == rows.FUNCTION)}


def test_what_a_manifest_may_say_has_an_example() -> None:
    assert set(EXAMPLES["memory.defaults"]) == {*DEFAULTS, "summary"}


def test_every_bound_of_the_log_has_a_rule() -> None:
    assert set(RULES) == {name for name in RETAINING if name not in LOWS}


def test_a_bound_without_a_rule_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """It never evicts by another one."""
    monkeypatch.delitem(RULES, "retain_tokens")
    Policy(retain=3)
    with pytest.raises(NotImplementedError, match="no rule for `retain_tokens`"):
        Policy(retain_tokens=3)


@seed(1)
@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(st.booleans(), max_size=12), st.integers(1, 12), st.integers(0, 5))
def test_the_fast_form_of_a_queue_is_the_rule(follows: list[bool], bound: int, start: int) -> None:
    """`follows`: whether a message is a tool result of the one before."""
    roles = ["tool" if follow and number else "user" for number, follow in enumerate(follows)]
    entries = [Entry(number, number, Msg(role, "x"), tokens=1) for number, role in enumerate(roles)]
    gone = [Entry(-1, -1, Msg("user", "gone"))] * start
    head = Head(0, len(entries), 0, len(entries), len(entries), 0)
    left = list(leaving(Retention({"retain": bound}), Index(head, entries)))
    end = end_of_front([*gone, *entries], start, len(entries) - bound) if len(entries) > bound else start
    assert [*gone, *entries][start:end] == left


def test_a_log_with_another_bound_is_no_queue() -> None:
    assert [Policy(retain=3, **more).retention.fifo for more in ({}, {"retain_low": 2}, {"retain_tokens": 9})] == [3, None, None]
    assert Policy().retention.fifo is None and Policy(retain_tokens=9).retention.fifo is None


@pytest.mark.parametrize("name", STEPS)
def test_the_clauses_that_a_step_names_are_of_it(name: str) -> None:
    lines = (Path(__file__).resolve().parents[2] / "docs" / "spec" / "memory.md").read_text(encoding="utf-8").splitlines()
    for clause in re.findall(r"M-\d+\.\d+", STEPS[name].doc):
        (line,) = [line for line in lines if line.lstrip("|- ").startswith(f"**{clause}**")]
        assert f".{name}(" in line, clause
