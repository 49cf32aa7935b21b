"""What a journal is made of: a header and rows, as objects and as lines of JSON (G-14.1).

A row is one step of a run whose outcome the machine cannot compute: an effect performed, a piece of a stream, the order in
which results were handed out, an emit, the end. Hands on the classes of rows, with the words that stand in their fields (DONE,
OBSERVED …), `Header` and `JournalRefused`, to the other files of this folder and to `concerto trace`, the last to the other
commands that open a journal and to the Python API too, `StoreFailed` to run stores, and this and `EffectRow` to the calls of
the API that are kept (`api/stored_calls.py`). `plain_of`, `row_of` and `header_of` turn rows into plain data for JSON and back;
what is read is checked field by field, and what does not fit is refused by name. Nothing here opens a file or a store.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, TypeAlias

    from ...vm.interp.link import Trust

    Json: TypeAlias = Any

FORMAT = "concerto-effects/1"

# The classes of effects (G-13.2).
OBSERVED, REPEATABLE, ONCE = "observed", "repeatable", "once"
CLASSES = (OBSERVED, REPEATABLE, ONCE)
# What became of an effect: `intent` is written before one that must not happen twice, the others are outcomes.
INTENT, DONE, FAILED, PANICKED, EXPIRED, DISCARDED = "intent", "done", "failed", "panicked", "expired", "discarded"
UNKNOWN = "unknown"  # of an effect that must not happen twice: the program was told that nobody knows
STATUSES = (INTENT, DONE, FAILED, PANICKED, EXPIRED, DISCARDED, UNKNOWN)
MOST = 2**53  # every number of a row is below it
LATEST = 1e11  # seconds since 1970


class JournalRefused(Exception):
    """An effect file or a run that cannot be used; the text names the place and what to do. `fails`: nothing is wrong with the
    file or run itself, which cannot be used here and now."""

    fails = False


class StoreFailed(JournalRefused):
    """A run store that cannot be read or written, whatever it is asked for: its file or server fails, or it is damaged."""


class Header:
    """What a journal begins with: of which `program` (its name) and `image` (content hash) the `run` is, the `args` of its main,
    the `seed` of its random numbers, and the time at which it began, in seconds since 1970 (`wall`); `offline` says that every
    model was the offline provider. `trust` is the trust level of the image (G-1.2)."""

    __slots__ = ("program", "image", "run", "args", "seed", "wall", "offline", "trust")

    def __init__(
        self, *, program: str, image: str, run: str, args: list[str], seed: int, wall: float, offline: bool,
        trust: Trust = "foreign",
    ) -> None:  # fmt: skip
        self.program = program
        self.image = image
        self.run = run
        self.args = args
        self.seed = seed
        self.wall = wall
        self.offline = offline
        self.trust = trust

    def as_json(self) -> Json:
        """Return the header as plain data, which `header_of` reads."""
        return {"format": FORMAT, **{name: getattr(self, name) for name in self.__slots__}}

    def under(self, program: str, image: str, trust: Trust) -> Header:
        """Return the header of the same run under another image."""
        return Header(
            program=program, image=image, run=self.run, args=self.args, seed=self.seed, wall=self.wall, offline=self.offline,
            trust=trust,
        )  # fmt: skip


class EffectRow:
    """An effect and its outcome. `key` is its effect key (G-13.3), with `/n` for the n-th operation within it; `kind` says what
    it is, `cls` is one of CLASSES. `request` is its canonical form with the `digest` of it, `idem_key` its idempotency key.
    `attempt` counts the times it was begun; `status` is one of STATUSES and `result` what came of it. `tokens` (sent, received,
    read from a cache, written to it, reasoning), `cost` in dollars and `repaired` (whether JSON had to be found in it) are those
    of a reply, None elsewhere and where they are not known. `emits` are those of the runtime that it made, such as audits, as
    (channel, payload). It began at `t_start` and was over at `t_end`, in milliseconds since the run began."""

    __slots__ = (
        "key", "kind", "cls", "digest", "request", "idem_key", "attempt", "status", "result", "tokens", "cost", "repaired",
        "t_start", "t_end", "emits",
    )  # fmt: skip

    def __init__(
        self, key: str, kind: str, cls: str, digest: str, request: Json, idem_key: str, *, attempt: int = 1,
        status: str = DONE, result: Json = None, tokens: Json = None, cost: float | None = None, repaired: bool | None = None,
        t_start: float = 0.0, t_end: float = 0.0, emits: Json = None,
    ) -> None:  # fmt: skip
        self.key = key
        self.kind = kind
        self.cls = cls
        self.digest = digest
        self.request = request
        self.idem_key = idem_key
        self.attempt = attempt
        self.status = status
        self.result = result
        self.tokens = tokens
        self.cost = cost
        self.repaired = repaired
        self.t_start = t_start
        self.t_end = t_end
        self.emits = emits

    def anew(self) -> EffectRow:
        """Return a row of the same effect for its outcome."""
        return EffectRow(
            self.key, self.kind, self.cls, self.digest, self.request, self.idem_key, attempt=self.attempt, t_start=self.t_start
        )

    @property
    def is_settled(self) -> bool:
        """Whether the outcome is known."""
        return self.status != INTENT


class PieceRow:
    """A piece of a streamed reply: the `key` of the request, the `text`, and `t`, when it came, in milliseconds since the run
    began."""

    __slots__ = ("key", "text", "t")

    def __init__(self, key: str, text: str, t: float) -> None:
        self.key = key
        self.text = text
        self.t = t


class DeliveryRow:
    """The result of the effect `key` was handed to its task while other effects were on their way."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        self.key = key


class EmitRow:
    """An emit, or text that the program printed (`channel` None). `value` is plain JSON; `by_runtime` as in `Host.emit`; `t` in
    milliseconds since the run began."""

    __slots__ = ("channel", "value", "by_runtime", "t")

    def __init__(self, channel: str | None, value: Json, by_runtime: bool, t: float) -> None:
        self.channel = channel
        self.value = value
        self.by_runtime = by_runtime
        self.t = t


class EndRow:
    """The end of the run: `outcome` is "ok", "error", "panic" or "cancelled", `message` the text of an error or panic, `code`
    that of a panic; `value` what main gave, as plain JSON, None where it has no JSON form; `t` in milliseconds since the run
    began."""

    __slots__ = ("outcome", "message", "code", "value", "t")

    def __init__(self, outcome: str, message: str = "", code: str = "", value: Json = None, t: float = 0.0) -> None:
        self.outcome = outcome
        self.message = message
        self.code = code
        self.value = value
        self.t = t


if TYPE_CHECKING:
    Row: TypeAlias = EffectRow | PieceRow | DeliveryRow | EmitRow | EndRow


def plain_of(row: Row) -> Json:
    """Return a row as plain data; its first key says which class it is of."""
    if type(row) is EffectRow:
        plain = {"effect": row.key, **{name: getattr(row, name) for name in EffectRow.__slots__[1:]}}
        plain["class"] = plain.pop("cls")
        return {name: value for name, value in plain.items() if value is not None}
    if type(row) is PieceRow:
        return {"piece": row.key, "text": row.text, "t": row.t}
    if type(row) is DeliveryRow:
        return {"deliver": row.key}
    if type(row) is EmitRow:
        return {"emit": row.channel, "value": row.value, "by_runtime": row.by_runtime, "t": row.t}
    assert type(row) is EndRow
    return {"end": row.outcome, "message": row.message, "code": row.code, "value": row.value, "t": row.t}


def row_of(plain: Json) -> Row:
    """Return the row of plain data. Raises JournalRefused, which says what is wrong but not where."""
    if not isinstance(plain, dict) or not plain:
        raise JournalRefused("is no row")
    kind = next(iter(plain))
    read: Callable[[Mapping[str, Json]], Row] | None = _READERS.get(kind)
    if read is None:
        raise JournalRefused(f"is a row of the unknown kind {kind[:40]!r}")
    return read(plain)


def _take(plain: Mapping[str, Json], names: Mapping[str, Any], optional: Mapping[str, Any]) -> dict[str, Json]:
    """Return the fields of a row, checked by type: those of `names` have to be there."""
    for name, value in plain.items():
        kinds = names.get(name, optional.get(name))
        if kinds is None:
            raise JournalRefused(f"has the unknown field {name[:40]!r}")
        if kinds is not object and (not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool)):
            raise JournalRefused(f"has a field {name!r} of another type")
        if kinds is _NUMBER and not 0 <= value < MOST:  # which no NaN is either: what a clock makes of one is no time
            raise JournalRefused(f"has a field {name!r} with a number that none has")
    missing = [name for name in names if name not in plain]
    if missing:
        raise JournalRefused(f"lacks the field {missing[0]!r}")
    return dict(plain)


_NUMBER = (int, float)
_EFFECT = {
    "effect": str, "kind": str, "digest": str, "idem_key": str, "attempt": int, "status": str, "t_start": _NUMBER,
    "t_end": _NUMBER, "class": str,
}  # fmt: skip
_EFFECT_MORE = {"request": object, "result": object, "tokens": object, "cost": _NUMBER, "repaired": bool, "emits": list}


def _effect(plain: Mapping[str, Json]) -> EffectRow:
    fields = _take(plain, _EFFECT, _EFFECT_MORE)
    if fields["class"] not in CLASSES or fields["status"] not in STATUSES:
        raise JournalRefused("has a class or status that no effect has")
    key, kind, cls = fields.pop("effect"), fields.pop("kind"), fields.pop("class")
    digest, request, idem_key = fields.pop("digest"), fields.pop("request", None), fields.pop("idem_key")
    return EffectRow(key, kind, cls, digest, request, idem_key, **fields)


def _piece(plain: Mapping[str, Json]) -> PieceRow:
    fields = _take(plain, {"piece": str, "text": str, "t": _NUMBER}, {})
    return PieceRow(fields["piece"], fields["text"], fields["t"])


def _delivery(plain: Mapping[str, Json]) -> DeliveryRow:
    return DeliveryRow(_take(plain, {"deliver": str}, {})["deliver"])


def _emit(plain: Mapping[str, Json]) -> EmitRow:
    names = {"emit": (str, type(None)), "value": object, "by_runtime": bool, "t": _NUMBER}
    fields = _take(plain, names, {})
    return EmitRow(fields["emit"], fields["value"], fields["by_runtime"], fields["t"])


def _end(plain: Mapping[str, Json]) -> EndRow:
    fields = _take(plain, {"end": str, "message": str, "code": str, "value": object, "t": _NUMBER}, {})
    if fields["end"] not in ("ok", "error", "panic", "cancelled"):
        raise JournalRefused("has an outcome that no run has")
    return EndRow(fields["end"], fields["message"], fields["code"], fields["value"], fields["t"])


_READERS: dict[str, Any] = {"effect": _effect, "piece": _piece, "deliver": _delivery, "emit": _emit, "end": _end}


def header_of(plain: Json) -> Header:
    """Return the header of plain data. Raises JournalRefused, also for a format of another version."""
    if not isinstance(plain, dict) or not isinstance(plain.get("format"), str):
        raise JournalRefused("is no header of an effect file")
    if plain["format"] != FORMAT:
        raise JournalRefused(f"has the format {plain['format'][:40]!r}; this release reads {FORMAT!r}")
    names = {
        "format": str, "program": str, "image": str, "run": str, "args": list, "seed": int, "wall": _NUMBER, "offline": bool,
        "trust": str,
    }  # fmt: skip
    fields = _take(plain, names, {})
    if any(not isinstance(word, str) for word in fields["args"]):
        raise JournalRefused("has arguments that are no texts")
    if not fields["wall"] < LATEST:
        raise JournalRefused("has a time at which no run begins")
    if fields["trust"] not in ("local", "pinned", "signed", "foreign"):
        raise JournalRefused("has a level of trust that no image has")
    del fields["format"]
    return Header(**fields)
