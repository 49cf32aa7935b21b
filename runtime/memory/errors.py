"""The failures of a memory (M-6.23): typed, with the fields a program can read.

Hands on `MemoryFailure`s, which end at the boundary of the runtime like every `CallFailure`. Must not know: stores, views.
"""

from __future__ import annotations

from ..errors import CallFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class MemoryFailure(CallFailure):
    """A `MemoryError` in the making; `variant` is one of M-6.23."""

    def __init__(self, variant: str, message: str, **fields: Any) -> None:
        super().__init__("MemoryError", variant, message, **fields)

    @property
    def panic_code(self) -> str:
        """The panic of methods without a Result (M-6.22, M-6.33)."""
        return "P452" if self.variant == "Bound" else "P451"


class InvalidValue(Exception):
    """What M-6.23 makes panic P452: an invalid key value, number or content."""


class FixedSlot(InvalidValue):
    """A second write of a slot without `mut` (M-10.2): P453."""


def conflict(expected: int, actual: int) -> MemoryFailure:
    message = f"the memory was changed meanwhile: expected version {expected}, found {actual}"
    return MemoryFailure("Conflict", message, expected=expected, actual=actual)


def waited_too_long(expected: int) -> MemoryFailure:
    """M-5.19: the lock did not come in time."""
    message = "another turn on this memory did not end in time"
    return MemoryFailure("Conflict", message, expected=expected, actual=expected)


def nested() -> MemoryFailure:
    return MemoryFailure("Nested", "a run that writes this memory is already in progress here; attach it with `auto: false`")


def overflow(needed: int, budget: int, seqs: Sequence[int]) -> MemoryFailure:
    message = f"system message and pinned messages need {needed} tokens, the limit is {budget}"
    return MemoryFailure("Overflow", message, needed=needed, budget=budget, seqs=list(seqs))


def invalid_unit(reason: str) -> MemoryFailure:
    return MemoryFailure("InvalidUnit", reason)


def reading_itself(memory: str) -> MemoryFailure:
    """M-4.33: a view function uses the memory whose messages it is asked for."""
    message = f"the view of the memory {memory} is being made here: its function may read its messages, and nothing else of it"
    return MemoryFailure("Nested", message)


def view_failed(memory: str, reason: str) -> MemoryFailure:
    return MemoryFailure("View", f"the view of the memory {memory} failed: {reason}")


def exists(branch: str) -> MemoryFailure:
    return MemoryFailure("Exists", f"there is a branch {branch!r} already")


def not_found(branch: str) -> MemoryFailure:
    return MemoryFailure("NotFound", f"there is no branch {branch!r}")


def no_turn(turn: int) -> MemoryFailure:
    return MemoryFailure("NotFound", f"there is no turn {turn}; to remove all turns rewind to -1")


def store_failed(store: str, reason: str) -> MemoryFailure:
    return MemoryFailure("Store", f"store {store}: {reason}", store=store)


def keeps_no(store: str, what: str) -> MemoryFailure:
    """A store that has no place for `what`: facts, observations."""
    return store_failed(store, f"this store keeps no {what}")


def other_key_parts(memory: str, names: Sequence[str], values: Sequence[str | int]) -> MemoryFailure:
    """A key was written when its memory had other parts than it is declared with now (M-7.6)."""
    found = ", ".join(repr(value) for value in values) or "no parts"
    message = (
        f"the memory {memory} has keys that were written under another declaration, one with {found}; it is declared with "
        f"{', '.join(names) or 'no parts'}: declare it as it was to read them, or remove all its keys with `erase()`"
    )
    return MemoryFailure("Store", message, store=memory)


def stored_twice(memory: str, now: str, before: str) -> MemoryFailure:
    """What was renamed, or got a key part, is stored under what it is called now too (M-7.8, M-7.9)."""
    message = (
        f"the memory {memory} has data under {now} and under {before}, and none of them is read: "
        f"declare each as a memory of its own and `erase` one, or move what it holds with `dump` and `load`"
    )
    return MemoryFailure("Store", message, store=memory)


def newer_version(found: int, supported: int) -> MemoryFailure:
    message = f"written by a newer version: format {found}, this program reads up to {supported}"
    return MemoryFailure("Version", message, found=found, supported=supported)


def unsupported_part(kind: str, supported: int) -> MemoryFailure:
    """A part that has its place in the format and no meaning here yet."""
    message = f"an entry holds {kind}, which this version of Concerto does not carry; nothing was read"
    return MemoryFailure("Version", message, found=supported, supported=supported)


WAY_OUT = "restore the store from a copy, or erase the key"
DAMAGED = "damaged memory: "


def corrupt(reason: str) -> MemoryFailure:
    return MemoryFailure("Corrupt", f"{DAMAGED}{reason}")


def redaction_failed(reason: str) -> MemoryFailure:
    return MemoryFailure("Redaction", f"the redactor failed: {reason}; nothing was stored")


def wrong_bound(message: str, bound: str) -> MemoryFailure:
    """A function of the key gave a bound that none is (M-2.17)."""
    return MemoryFailure("Bound", message, bound=bound)


def unnameable(kind: str) -> MemoryFailure:
    message = f"the {kind} of a fact holds what is not stored (what `redact` rewrites, or a secret): nothing was stored"
    return MemoryFailure("Redaction", f"{message}; call it by something else, such as an id")
