"""The failures of a memory (M-6.23), and the exceptions for values that a memory refuses.

Hands on `MemoryFailure` to whatever uses a memory or a store: this folder, indexes, the performers of memories, tools, the
session and the journal; `InvalidValue` and `FixedSlot`, which become panics of the program; one function for each failure, which
returns it and which the caller raises (`conflict`, `corrupt`, `store_failed` and others); and WAY_OUT and DAMAGED, texts of some
of them. Nothing is raised or decided here, and no other file of the memory is known.
"""

from __future__ import annotations

from ..errors import CallFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class MemoryFailure(CallFailure):
    """A `MemoryError` before it becomes a value of the language: `variant` is one of M-6.23, `fields` are what a program
    can read of it."""

    def __init__(self, variant: str, message: str, **fields: Any) -> None:
        super().__init__("MemoryError", variant, message, **fields)

    @property
    def panic_code(self) -> str:
        """The code of the panic where the method gives no Result (M-6.22, M-6.33)."""
        return "P452" if self.variant == "Bound" else "P451"


class InvalidValue(Exception):
    """What M-6.23 makes panic P452: an invalid key value, number or content."""


class FixedSlot(InvalidValue):
    """A second write of a slot without `mut` (M-10.2): P453."""


def conflict(expected: int, actual: int) -> MemoryFailure:
    """Return the failure: the log has another version than the writer expected."""
    message = f"the memory was changed meanwhile: expected version {expected}, found {actual}"
    return MemoryFailure("Conflict", message, expected=expected, actual=actual)


def waited_too_long(expected: int) -> MemoryFailure:
    """Return the failure: the turn lock did not come in time (M-5.19); `expected` is the version of the log."""
    message = "another turn on this memory did not end in time"
    return MemoryFailure("Conflict", message, expected=expected, actual=expected)


def nested() -> MemoryFailure:
    """Return the failure: a change of the log inside a run that writes it (M-5.20)."""
    return MemoryFailure("Nested", "a run that writes this memory is already in progress here; attach it with `auto: false`")


def overflow(needed: int, budget: int, seqs: Sequence[int]) -> MemoryFailure:
    """Return the failure: system message and pins need `needed` tokens, which exceeds the budget; `seqs` are the numbers of the
    pinned entries (M-4.12)."""
    message = f"system message and pinned messages need {needed} tokens, the limit is {budget}"
    return MemoryFailure("Overflow", message, needed=needed, budget=budget, seqs=list(seqs))


def invalid_unit(reason: str) -> MemoryFailure:
    """Return the failure of messages that are no whole units: a call without its result, a result without its call, or an
    unknown role (M-6.2)."""
    return MemoryFailure("InvalidUnit", reason)


def reading_itself(memory: str) -> MemoryFailure:
    """Return the failure: a view function uses the memory whose messages it is asked for (M-4.33)."""
    message = f"the view of the memory {memory} is being made here: its function may read its messages, and nothing else of it"
    return MemoryFailure("Nested", message)


def view_failed(memory: str, reason: str) -> MemoryFailure:
    """Return the failure: the function that gives the messages of a view failed."""
    return MemoryFailure("View", f"the view of the memory {memory} failed: {reason}")


def exists(branch: str) -> MemoryFailure:
    """Return the failure: a branch is to be made under a name that is taken (M-6.16)."""
    return MemoryFailure("Exists", f"there is a branch {branch!r} already")


def not_found(branch: str) -> MemoryFailure:
    """Return the failure: a branch is asked for that does not exist (M-6.17)."""
    return MemoryFailure("NotFound", f"there is no branch {branch!r}")


def no_turn(turn: int) -> MemoryFailure:
    """Return the failure: a log is to be rewound to the turn `turn`, which is below -1."""
    return MemoryFailure("NotFound", f"there is no turn {turn}; to remove all turns rewind to -1")


def store_failed(store: str, reason: str) -> MemoryFailure:
    """Return the failure: a store cannot be opened, read or written; `reason` says what to do about it where that is known."""
    return MemoryFailure("Store", f"store {store}: {reason}", store=store)


def keeps_no(store: str, what: str) -> MemoryFailure:
    """Return the failure: a store that has no place for `what`: facts, or observations."""
    return store_failed(store, f"this store keeps no {what}")


def other_key_parts(memory: str, names: Sequence[str], values: Sequence[str | int]) -> MemoryFailure:
    """Return the failure: a stored key has the parts `values`, and the memory is declared with those of `names` (M-7.6)."""
    parts = ", ".join(repr(value) for value in values) or "no parts"
    message = (
        f"the memory {memory} has keys that were written under another declaration, one with {parts}; it is declared with "
        f"{', '.join(names) or 'no parts'}: declare it as it was to read them, or remove all its keys with `erase()`"
    )
    return MemoryFailure("Store", message, store=memory)


def stored_twice(memory: str, now: str, before: str) -> MemoryFailure:
    """Return the failure: data is stored under the new name or key, `now`, and under the one before; reading one would hide the
    other (M-7.10)."""
    message = (
        f"the memory {memory} has data under {now} and under {before}, and none of them is read: "
        f"declare each as a memory of its own and `erase` one, or move what it holds with `dump` and `load`"
    )
    return MemoryFailure("Store", message, store=memory)


def newer_version(found: int, supported: int) -> MemoryFailure:
    """Return the failure: what is read has the format `found`, and this program reads formats up to `supported`."""
    message = f"written by a newer version: format {found}, this program reads up to {supported}"
    return MemoryFailure("Version", message, found=found, supported=supported)


def unsupported_part(what: str, supported: int) -> MemoryFailure:
    """Return the failure: an entry has a part that only a later version knows (M-8.19)."""
    message = f"an entry holds {what}, which this version of Concerto does not carry; nothing was read"
    return MemoryFailure("Version", message, found=supported, supported=supported)


WAY_OUT = "restore the store from a copy, or erase the key"
DAMAGED = "damaged memory: "


def corrupt(reason: str) -> MemoryFailure:
    """Return the failure: what a store holds contradicts itself or does not decode (G-12.10)."""
    return MemoryFailure("Corrupt", f"{DAMAGED}{reason}")


def redaction_failed(reason: str) -> MemoryFailure:
    """Return the failure: a redactor raised or gave no text, so nothing was stored (M-4.4)."""
    return MemoryFailure("Redaction", f"the redactor failed: {reason}; nothing was stored")


def wrong_bound(message: str, bound: str) -> MemoryFailure:
    """Return the failure: a function of the key gave a value that is no bound, or panicked (M-2.17)."""
    return MemoryFailure("Bound", message, bound=bound)


def unnameable(kind: str) -> MemoryFailure:
    """Return the failure: `redact` would rewrite the name or a subject of a fact, and two facts could become one (M-4.4)."""
    message = f"the {kind} of a fact holds what is not stored (what `redact` rewrites, or a secret): nothing was stored"
    return MemoryFailure("Redaction", f"{message}; call it by something else, such as an id")
