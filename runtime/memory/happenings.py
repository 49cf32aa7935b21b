"""What the runtime observes of a run for the rules of its memory (M-10.22, M-10.43): its turn, the tool calls of it, and failures
that were put right in it.

Hands on `Happenings` and the names of the topics. Must not know: rules, stores, how tools run.
"""

from __future__ import annotations

from ...vm.bytecode.memory_steps import OBSERVED_TOPICS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from ..records import Call, Msg

    Observed = tuple[str, dict[str, Any]]
    """Topic and data."""

TURN, TOOL, FIX = OBSERVED_TOPICS
MOST = 64
"""Observations of a topic that one turn gives, the newest."""
LONGEST = 1_000
"""Characters of a text in them; more of arguments is left out."""


class Happenings:
    """Of one run, all its attempts."""

    __slots__ = ("calls", "failed")

    def __init__(self) -> None:
        self.calls: list[tuple[Call, Msg | None]] = []
        self.failed: list[tuple[str, str, str]] = []

    def called(self, calls: Sequence[Call], results: Sequence[Msg]) -> None:
        given = {result.call_id: result for result in results}
        self.calls += [(call, given.get(call.id)) for call in calls]

    def refused(self, schema: str, reason: str, reply: str) -> None:
        """A reply that does not fit its schema (M-5.4)."""
        self.failed.append((schema, reason, reply))

    def observed(self, topics: frozenset[str], turn: Mapping[str, Any]) -> list[Observed]:
        """In the order in which rules look at them: calls, what was put right, the turn."""
        found: list[Observed] = []
        if TOOL in topics:
            found += [(TOOL, {**_told(call, result), "model": turn["model"]}) for call, result in self.calls][-MOST:]
        if FIX in topics:
            fixes = [*self._fixed_calls(), *self._fixed_replies(turn["reply"])]
            found += [(FIX, {**fix, "model": turn["model"]}) for fix in fixes[-MOST:]]
        return [*found, (TURN, dict(turn))] if TURN in topics else found

    def _fixed_calls(self) -> list[dict[str, Any]]:
        """Each failed call, with the arguments of the next call of that tool which did not fail, if there was one."""
        made = []
        for at, (call, result) in enumerate(self.calls):
            if result is not None and result.is_error:
                later = self.calls[at + 1 :]
                put_right = next((c for c, r in later if c.name == call.name and r is not None and not r.is_error), None)
                fix = None if put_right is None else _arguments(put_right)
                made.append(_fix("tool", call.name, _error(result), _arguments(call), fix, put_right is not None))
        return made

    def _fixed_replies(self, reply: str) -> list[dict[str, Any]]:
        """A run that commits ended with a reply that fits."""
        return [
            _fix("schema", schema, reason, given[:LONGEST], reply[:LONGEST], True) for schema, reason, given in self.failed
        ]


def _fix(what: str, name: str, error: str, tried: Any, fix: Any, ok: bool) -> dict[str, Any]:
    return {"what": what, "name": name, "error": error[:LONGEST], "tried": tried, "fix": fix, "ok": ok}


def _told(call: Call, result: Msg | None) -> dict[str, Any]:
    ok = result is not None and not result.is_error
    said = None if result is None else result.content[:LONGEST]
    error = "" if result is None else _error(result)[:LONGEST]
    return {
        "name": call.name, "arguments": _arguments(call), "ok": ok, "result": said if ok else None,
        "error": None if ok else error,
    }  # fmt: skip


def _error(result: Msg) -> str:
    """What a model is told of a failure, without the JSON around it (O-4.27)."""
    from json import loads

    try:
        held = loads(result.content)
    except ValueError:
        return result.content
    error = held.get("error") if isinstance(held, dict) else None
    return error if isinstance(error, str) else result.content


def _arguments(call: Call) -> Any:
    """An object, or the text of what is none; nil for more than LONGEST characters."""
    from json import dumps

    if call.arguments is None:
        return call.text[:LONGEST]
    return call.arguments if len(dumps(call.arguments, ensure_ascii=False)) <= LONGEST else None
