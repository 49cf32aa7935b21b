"""What follows from the rows of a recording: which attempt a request is, what it repeats, what the tools gave, and sums by
model.

Hands on `Reading`, which turns the rows of a recording into `Step`s one after another, to `concerto trace`, its text and its
page, and to the notebook; to text and page `reason_of`, `text_of`, `number`, `messages_of` and `list_of`, parts of rows, and to
the command and the page `json_of`; `places_of` to `cli/trace_program.py`. Nothing here prints. What is kept between two rows does
not grow with the recording: sums, of each task the last effect, of each model the last request, and the effects that have begun,
each up to a limit. A row is what somebody wrote into a file: it may hold anything that JSON can, and nothing of it is taken for
granted.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from ..runtime.calls.request_log import common_prefix
from ..runtime.journal.forms import canonical
from ..runtime.journal.rows import DONE, FAILED, INTENT, PANICKED, EffectRow, EmitRow, PieceRow, plain_of
from ..runtime.schema.lenient_json import compact_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    from ..runtime.journal.rows import Row
    from .trace_program import Known

TASKS = 10_000  # whose last effect is kept
PREFIXES = 128 << 20  # bytes of requests that are kept to compare the next one with
CALLS = 100  # of an effect, whose last request is kept
INTENTS = 10_000  # effects that began, and whose outcome is awaited
MODELS = 10_000  # of which sums are made
DIFF_LINES = 400  # of a message, beyond which no difference is looked for
COUNTS = ("in", "out", "cached", "cache_write", "reasoning")  # of `EffectRow.tokens`


class Step:
    """A row of a recording, the `n`-th from 0, and what follows from it. `task` is its task, `effect` the effect that the row
    is an operation of, both "" for rows of no task. `kind` is that of an effect, else one of "piece", "deliver", "emit",
    "print" and "end". `facts` are plain data by name:

    `ms`, how long it took, of an effect with an outcome. Of a request to a model `call` (the id of the call), `model`,
    `connection`, `why` ("first", "retry", "schema", "tools", "fallback" or "next": what made it follow the request before of its
    call), `before` (the number of that row), `attempt`, `schema_attempt`, `diff` (lines of the last user message, as of
    `difflib.ndiff`), `because`, the failure before, of a retry or fallback, `after_ms` of a retry, `gave` (what the tools called
    by the reply before gave: id, name, text, whether it is an error), `bytes` and `shared` (how many there are, and with how many
    the one before to the same model begins too), `earlier` (the number of that one's row), `tokens`, `pieces` and `first_ms`.
    With a program `at` (file, line and column of the effect), `line` (the text of that line) and `memory` (what memories told
    behind the row: `event` and its payload)."""

    __slots__ = ("n", "row", "task", "effect", "kind", "facts")

    def __init__(self, n: int, row: Row, task: str, effect: str, kind: str) -> None:
        self.n = n
        self.row = row
        self.task = task
        self.effect = effect
        self.kind = kind
        self.facts: dict[str, Any] = {}

    @property
    def is_failure(self) -> bool:
        """Whether it is an effect that did not give what was asked for."""
        return type(self.row) is EffectRow and self.row.status not in (DONE, INTENT)

    def as_json(self) -> dict[str, Any]:
        """Return the row as the recording has it, with what follows from it."""
        computed = {"n": self.n, "task": self.task, "effect": self.effect, "kind": self.kind, **self.facts}
        return {**plain_of(self.row), "computed": computed}


class ModelSums:
    """What the requests to one model of one connection come to. `failed` counts requests without a reply, `retried` those that
    were sent again after one, `schema` those that were sent since a reply did not fit; `cost` is that of the `priced` requests;
    `bytes` and `shared` as in `Step`."""

    NAMES = (
        "requests", "failed", "retried", "schema", "in", "out", "cached", "cache_write", "reasoning", "cost", "priced", "ms",
        "bytes", "shared",
    )  # fmt: skip

    __slots__ = ("model", "connection", "sums")

    def __init__(self, model: str, connection: str) -> None:
        self.model = model
        self.connection = connection
        self.sums: dict[str, float] = dict.fromkeys(self.NAMES, 0)

    def as_json(self) -> dict[str, Any]:
        """Return the model, the connection and the sums, one entry each."""
        return {"model": self.model, "connection": self.connection, **self.sums}


class _Asked:
    """What is kept of the last request of an effect: enough to tell how the next one differs from it."""

    __slots__ = ("n", "target", "id", "digest", "marks", "user", "attempt", "schema_attempt", "failure", "end", "calls")

    def __init__(self, n: int, target: tuple[str, str], id: str, digest: str, marks: list[bytes], user: tuple[int, str]) -> None:
        self.n = n
        self.target = target
        self.id = id
        self.digest = digest
        self.marks = marks
        self.user = user
        self.attempt = 1
        self.schema_attempt = 1
        self.failure = ""
        self.end = 0.0
        self.calls: list[tuple[str, str]] = []


class _Task:
    """What is kept of a task: its last effect, of that the last request of each call of a model (a memory may have one made for
    it), and the pieces of a reply that is on its way."""

    __slots__ = ("effect", "asked", "pieces", "first")

    def __init__(self, effect: str) -> None:
        self.effect = effect
        self.asked: dict[str, _Asked] = {}
        self.pieces = 0
        self.first = 0.0


class Reading:
    """Reads a recording: `steps` turns rows into steps. Afterwards, or between two steps, `models` has the sums by model, `kinds`
    how many effects of each kind there were, `rows` how many rows, `emits` how many emits, `last` the time of the last row in
    milliseconds, and `unsettled` the effects that have begun and have no outcome, by key. `known` is what a program says of the
    recording, None without one."""

    def __init__(self, known: Known | None = None) -> None:
        self.known = known
        self.rows = 0
        self.emits = 0
        self.last = 0.0
        self.kinds: dict[str, int] = {}
        self.models: OrderedDict[tuple[str, str], ModelSums] = OrderedDict()
        self.unsettled: OrderedDict[str, EffectRow] = OrderedDict()
        self._tasks: OrderedDict[str, _Task] = OrderedDict()
        self._prefixes: OrderedDict[tuple[str, str], tuple[int, bytes]] = OrderedDict()
        self._kept = 0  # bytes of prefixes

    def steps(self, rows: Iterable[Row]) -> Iterator[Step]:
        """Yield a step for each row."""
        for row in rows:
            yield self.step(row)

    def step(self, row: Row) -> Step:
        """Return the step of the next row."""
        n = self.rows
        self.rows += 1
        if type(row) is EffectRow:
            return self._effect(n, row)
        if type(row) is PieceRow:
            return self._piece(n, row)
        if type(row) is EmitRow:
            self.emits += 1
            self._passed(row.t)
            return Step(n, row, "", "", "print" if row.channel is None else "emit")
        self._passed(getattr(row, "t", 0.0))
        task, effect = places_of(getattr(row, "key", ""))
        return Step(n, row, task, effect, "deliver" if effect else "end")

    def as_json(self) -> dict[str, Any]:
        """Return the sums."""
        return {
            "rows": self.rows, "emits": self.emits, "ms": number(self.last), "kinds": dict(sorted(self.kinds.items())),
            "models": [sums.as_json() for sums in self.models.values()], "unsettled": list(self.unsettled),
        }  # fmt: skip

    def _passed(self, t: float) -> None:
        self.last = max(self.last, number(t))

    def _task(self, task: str, effect: str) -> _Task:
        known = self._tasks.get(task)
        if known is None or known.effect != effect:  # a task has one effect at a time
            known = self._tasks[task] = _Task(effect)
        self._tasks.move_to_end(task)
        if len(self._tasks) > TASKS:
            self._tasks.popitem(last=False)
        return known

    def _piece(self, n: int, row: PieceRow) -> Step:
        task, effect = places_of(row.key)
        known = self._task(task, effect)
        if not known.pieces:
            known.first = number(row.t)
        known.pieces += 1
        self._passed(row.t)
        return Step(n, row, task, effect, "piece")

    def _effect(self, n: int, row: EffectRow) -> Step:
        task, effect = places_of(row.key)
        step = Step(n, row, task, effect, row.kind)
        if row.status == INTENT:
            self.unsettled[row.key] = row
            if len(self.unsettled) > INTENTS:
                self.unsettled.popitem(last=False)
            return step
        self.unsettled.pop(row.key, None)
        if row.kind in self.kinds or len(self.kinds) < MODELS:
            self.kinds[row.kind] = self.kinds.get(row.kind, 0) + 1
        self._passed(row.t_end)
        step.facts["ms"] = round(max(number(row.t_end) - number(row.t_start), 0.0), 3)
        known = self._task(task, effect)
        if row.kind == "model" and isinstance(row.request, dict):
            self._model(step, row, row.request, known)
        if self.known is not None:
            self._by_program(step, row, self.known)
        return step

    def _by_program(self, step: Step, row: EffectRow, known: Known) -> None:
        place = known.place(row.key)
        if place is not None:
            step.facts["at"] = list(place)
            step.facts["line"] = known.line(place)
        told = known.told(row.key)
        if told:
            step.facts["memory"] = [{"event": event, **payload} for event, payload in told if isinstance(payload, dict)]

    # ------------------------------------------------------------ requests to models

    def _model(self, step: Step, row: EffectRow, request: dict[str, Any], task: _Task) -> None:
        facts = step.facts
        target = text_of(request.get("connection")), text_of(request.get("model"))
        facts["call"] = text_of(request.get("id")).rpartition(".")[0]
        facts["connection"], facts["model"] = target
        facts["tokens"] = plain_tokens(row)
        if task.pieces:
            facts["pieces"] = task.pieces
            facts["first_ms"] = round(max(task.first - number(row.t_start), 0.0), 3)
            task.pieces = 0
        messages = messages_of(request)
        marks = [hashlib.sha256(canonical(message).encode("utf-8", "surrogatepass")).digest()[:12] for message in messages]
        user = next((at for at in range(len(messages) - 1, -1, -1) if messages[at].get("role") == "user"), -1)
        said = text_of(messages[user].get("content")) if user >= 0 else ""
        asked = _Asked(step.n, target, text_of(request.get("id")), row.digest, marks, (user, said))
        self._compare(facts, row, asked, task.asked.get(facts["call"]), messages)
        self._share(step, target, request)
        asked.end = number(row.t_end)
        asked.failure = reason_of(row)
        asked.calls = _calls_of(row)
        task.asked[facts["call"]] = asked
        if len(task.asked) > CALLS:
            del task.asked[next(iter(task.asked))]
        self._sum(step, row, target)

    def _compare(
        self, facts: dict[str, Any], row: EffectRow, asked: _Asked, before: _Asked | None, messages: list[dict[str, Any]]
    ) -> None:
        """Tell what made a request follow the one before of its call."""
        facts["why"] = "first"
        if before is not None:
            facts["before"] = before.n
            facts["why"] = why = _relation(asked, before)
            if why == "retry":
                asked.attempt, asked.schema_attempt = before.attempt + 1, before.schema_attempt
                facts["because"] = before.failure
                facts["after_ms"] = round(max(number(row.t_start) - before.end, 0.0), 3)
            elif why == "schema":
                asked.schema_attempt = before.schema_attempt + 1
                facts["diff"] = difference_of(before.user[1], asked.user[1])
            elif why == "tools":
                asked.schema_attempt = before.schema_attempt
                facts["gave"] = _given(before, messages[len(before.marks) :])
            elif why == "fallback":
                facts["because"] = before.failure
        facts["attempt"], facts["schema_attempt"] = asked.attempt, asked.schema_attempt

    def _share(self, step: Step, target: tuple[str, str], request: dict[str, Any]) -> None:
        """Tell how much of a request equals the one before to the same model, in the bytes that `--verbose=requests` counts."""
        parts = [*list_of(request.get("hosted")), *list_of(request.get("tools")), *list_of(request.get("messages"))]
        text = "\n".join(map(json_of, parts)).encode("utf-8", "surrogatepass")
        step.facts["bytes"] = len(text)
        n, before = self._prefixes.pop(target, (-1, b""))
        if n >= 0:
            step.facts["earlier"] = n
            step.facts["shared"] = common_prefix(before, text)
        self._prefixes[target] = step.n, text
        self._kept += len(text) - len(before)
        while self._kept > PREFIXES and len(self._prefixes) > 1 or len(self._prefixes) > MODELS:
            _, (_, gone) = self._prefixes.popitem(last=False)
            self._kept -= len(gone)

    def _sum(self, step: Step, row: EffectRow, target: tuple[str, str]) -> None:
        known = self.models.get(target)
        if known is None:
            if len(self.models) >= MODELS:
                return
            known = self.models[target] = ModelSums(target[1], target[0])
        sums, facts = known.sums, step.facts
        sums["requests"] += 1
        sums["failed"] += step.is_failure
        sums["retried"] += facts["why"] == "retry"
        sums["schema"] += facts["why"] == "schema"
        for name, count in facts["tokens"].items():
            sums[name] += count
        if row.cost is not None:
            sums["cost"] += number(row.cost)
            sums["priced"] += 1
        sums["ms"] = round(sums["ms"] + facts["ms"], 3)
        sums["bytes"] += facts["bytes"]
        sums["shared"] += facts.get("shared", 0)


def _relation(asked: _Asked, before: _Asked) -> str:
    """Return what made a request follow another one of its call."""
    if (asked.id, asked.digest) == (before.id, before.digest):
        return "retry"
    if asked.target != before.target:
        return "fallback"
    count, user = len(before.marks), asked.user[0]
    if len(asked.marks) > count and asked.marks[:count] == before.marks:
        return "tools"
    is_last = user == len(asked.marks) - 1 and user >= 0
    if is_last and before.user[0] == user and asked.marks[:user] == before.marks[:user]:
        return "schema"  # its last user message may be the same one, when two replies fail in the same way
    return "next"


def _given(before: _Asked, added: list[dict[str, Any]]) -> list[list[Any]]:
    names = dict(before.calls)
    given = []
    for message in added:
        if message.get("role") == "tool":
            id = text_of(message.get("call_id"))
            given.append([id, names.get(id, id), text_of(message.get("content")), message.get("is_error") is True])
    return given


def _calls_of(row: EffectRow) -> list[tuple[str, str]]:
    calls = row.result.get("calls") if isinstance(row.result, dict) and row.status == DONE else None
    return [(text_of(call[0]), text_of(call[1])) for call in list_of(calls) if isinstance(call, list) and len(call) >= 2]


# ---------------------------------------------------------------- parts of rows


def places_of(key: str) -> tuple[str, str]:
    """Return the task and the effect of the key of an operation: of "0.2:5/Orders.1" they are "0.2" and "0.2:5"."""
    effect = key.partition("/")[0]
    task, colon, _ = effect.partition(":")
    return (task, effect) if colon else ("", effect)


def reason_of(row: EffectRow) -> str:
    """Return why an effect gave nothing, "" where it did."""
    result = row.result if isinstance(row.result, dict) else {}
    if row.status == FAILED:
        kind, variant = text_of(result.get("kind")), text_of(result.get("variant"))
        return f"{kind}{f'::{variant}' if variant else ''}: {text_of(result.get('message'))}"
    if row.status == PANICKED:
        return f"panic[{text_of(result.get('code'))}]: {text_of(result.get('message'))}"
    return "" if row.status in (DONE, INTENT) else row.status


def plain_tokens(row: EffectRow) -> dict[str, int]:
    """Return the tokens of a reply by name, without those that are 0 but for those in and out; nothing where there is no reply.
    """
    counts = row.tokens
    if not isinstance(counts, list) or len(counts) != len(COUNTS) or any(type(count) is not int for count in counts):
        return {}
    named = [(name, int(number(count))) for name, count in zip(COUNTS, counts, strict=True)]
    return {name: count for name, count in named if count or name in ("in", "out")}


def messages_of(request: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the messages of a request."""
    return [message for message in list_of(request.get("messages")) if isinstance(message, dict)]


def text_of(value: Any) -> str:
    """Return a text as it is, anything else as JSON, nothing as an empty text."""
    return value if isinstance(value, str) else "" if value is None else json_of(value)


def json_of(plain: Any, write: Callable[[Any], str] = compact_json) -> str:
    """Return plain data as JSON text, as `write` writes it, with null for numbers that JSON lacks: `write` raises ValueError for
    them."""
    try:
        return write(plain)
    except ValueError:
        return write(finite(plain))


def difference_of(before: str, after: str) -> list[str]:
    """Return the lines of two texts, each behind "- ", "+ " or two spaces; none where they are equal, those of the second text
    alone where they are too long to compare."""
    if before == after:
        return []
    one, other = before.split("\n"), after.split("\n")
    if len(one) + len(other) > DIFF_LINES:
        return [f"+ {line}" for line in other]
    from difflib import SequenceMatcher

    lines = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, one, other, autojunk=False).get_opcodes():
        if tag == "equal":
            lines += [f"  {line}" for line in one[start:end]]
        else:
            lines += [f"- {line}" for line in one[start:end]]
            lines += [f"+ {line}" for line in other[other_start:other_end]]
    return lines


def number(value: Any) -> float:
    """Return a number as it is; 0 for what is none, and for one so large that no clock and no price says it."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e15:  # not for what is no number, either
        return value
    return 0.0


def finite(plain: Any) -> Any:
    """Return plain data with nothing in place of numbers that JSON lacks."""
    if isinstance(plain, float):
        return plain if plain - plain == 0.0 else None
    if isinstance(plain, list):
        return [finite(part) for part in plain]
    if isinstance(plain, dict):
        return {name: finite(part) for name, part in plain.items()}
    return plain


def list_of(value: Any) -> list[Any]:
    """Return a list as it is, an empty one for anything else."""
    return value if isinstance(value, list) else []
