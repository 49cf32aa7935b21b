"""Which object of a reply is accepted, and what the model is told when none is (O-2.28, O-2.54, O-2.56, O-2.59)."""

import asyncio

import pytest
from concerto.runtime.records import Reply
from concerto.runtime.schema.acceptance import Verdict, judge
from concerto.runtime.schema.strategy import Schema

FIELDS = [["key", ["string"], False, False, None, None], ["kind", ["enum", ["bug", "task"]], True, False, None, None]]
SCHEMA = Schema("T", ["object", "T", [], FIELDS])


def judged(text, finish="stop", validators=None):
    """The key and whether the text was repaired, or the texts of the violations."""
    outcome = asyncio.run(judge(SCHEMA, Reply(text, finish=finish), validators))
    if isinstance(outcome, Verdict):
        return outcome.tree[2][0][1], outcome.repaired
    return [violation.text for violation in outcome]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"key": "v"}', ("v", False)),
        ('{"key": "v", "kind": "bug"}', ("v", False)),
        ('{"key": "v", "kind": "Bug"}', ("v", True)),
        ("{'key': 'v'}", ("v", True)),
        ('{"type": "object"} {"key": "v"}', ("v", True)),
        ('{"key": "v"} {"key": "v", "kind": null}', ("v", True)),
        ('{"key": "v"} {"key": "w"}', ["$: not valid JSON: 2 objects in a row that fit, not one"]),
        ('{"key": 1, "kind": 2}, or {"kind": "bug"}', ["$.key: missing required field"]),
        ('{"key": 1} or {"kind": "bug"}', ["$.key: expected String, got integer"]),
        ('[{"key": "v"}, {"key": "w"}]', ["$: not valid JSON: a list of 2 values, not one object"]),
    ],
)
def test_what_is_accepted(text, expected):
    assert judged(text) == expected


CUT = ["$: the reply was cut off at the token limit"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"key": "v"}', ("v", False)),
        ('{"key": "v"} and then', ("v", True)),
        ('{"key": "v"} and then {"key": "w', CUT),
        ('{"sub": {"key": "v"}, "key": "w', CUT),
        ('<think>{"key": "v"}', CUT),
        ('{"key": 1} and then', ["$.key: expected String, got integer"]),
        ("I would say", CUT),
    ],
)
def test_cut_off_at_the_token_limit(text, expected):
    assert judged(text, finish="length") == expected


def test_validators_run_on_the_one_that_fits():
    seen = []

    async def validators(tree):
        seen.append(tree[2][0][1])
        return [("$", "no")]

    assert judged('{"n": 1}: {"key": "v"} or {"key": "w"}', validators=validators) == ["$: no"]
    assert seen == ["v"]
