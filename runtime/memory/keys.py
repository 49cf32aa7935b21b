"""Keys, the addresses under which stores hold logs (M-7): namespace, memory path, key values in declared order, branch.

Hands on `Key` to all that addresses logs, the journal's stores (`journal/store_calls.py`) and the performer of memories too; and
what makes, changes and compares keys to the memories: `memory_key`, and `key_values` for the values that a program gives;
MAIN_BRANCH, `branch_of` and `with_branch`; `stored_values`, `longer_forms` and `declared_values`, which leave parts with defaults
out and put them back. Hands on to stores `encode` and `decode`, the bytes of a key, and `shown` for messages; the first and the
last to memories too. Whether a log is stored under a key is not asked here.
"""

from __future__ import annotations

from .failures import InvalidValue, corrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Key: TypeAlias = tuple[str | int, ...]

# In UTF-8 bytes (M-7.4).
LONGEST_VALUE = 1024
MAIN_BRANCH = ""
TEXT, NUMBER = b"s", b"i"


def memory_key(namespace: str, path: str, values: Sequence[str | int] = (), branch: str = MAIN_BRANCH) -> Key:
    """Return the address of a log; `path` is the name that its memory is stored under, `values` are its key values in declared
    order."""
    return (namespace, path, *values, branch)


def branch_of(key: Key) -> str:
    """Return the branch of a key, "" for the main one."""
    return str(key[-1])


def with_branch(key: Key, branch: str) -> Key:
    """Return the key of the same log at another branch."""
    return (*key[:-1], branch)


def key_values(names: Sequence[str], values: Mapping[str, object]) -> tuple[str | int, ...]:
    """Return the values of `.key(a: v, b: v)` in declared order. Raises InvalidValue (P452) for other names, and for a value
    that no key may have (M-7.4)."""
    if set(values) != set(names):
        raise InvalidValue(f"the key has {', '.join(names)}; given {', '.join(values) or 'nothing'}")
    return tuple(_key_value(name, values[name]) for name in names)


def stored_values(names: Sequence[str], defaults: Mapping[str, str | int], values: Key) -> Key:
    """Return the values as the store has them: without the last parts that have their default, so that the key is the one
    that was written before these parts were declared (M-7.9). More values than names are returned as they are."""
    count = len(values)
    if count > len(names):  # of another declaration, or damaged: `declared_values` reports it
        return values
    # Only from the end: a key is an ordered tuple, so a part in the middle cannot be left out.
    while count and names[count - 1] in defaults and defaults[names[count - 1]] == values[count - 1]:
        count -= 1
    return values[:count]


def longer_forms(names: Sequence[str], defaults: Mapping[str, str | int], values: Key) -> list[Key]:
    """Return the longer keys that an earlier declaration, without these defaults, would have stored the same values
    under."""
    return [values[:count] for count in range(len(stored_values(names, defaults, values)) + 1, len(values) + 1)]


def declared_values(names: Sequence[str], defaults: Mapping[str, str | int], stored: Key) -> Key | None:
    """Return the values of a stored key in declared order; None for a key of another declaration."""
    missing = names[len(stored) :]
    if len(stored) > len(names) or any(name not in defaults for name in missing):
        return None
    return (*stored, *(defaults[name] for name in missing))


def _key_value(name: str, value: object) -> str | int:
    # A bool is an int in Python, and none in the language.
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidValue(f"key part {name} is a String or an Int, found {type(value).__name__}")
    if isinstance(value, str) and not 0 < len(value.encode("utf-8", "surrogatepass")) <= LONGEST_VALUE:
        raise InvalidValue(f"key part {name} has 1 to {LONGEST_VALUE} bytes")
    return value


def encode(key: Key) -> bytes:
    """Return the bytes of a key (M-7.2): per part a type byte, the number of bytes of its text in 4 bytes, high byte first, and
    the text in UTF-8. No two keys have the same bytes, and the first parts of a key encode to the first of its bytes."""
    parts = []
    for part in key:
        kind = TEXT if isinstance(part, str) else NUMBER
        data = str(part).encode("utf-8", "surrogatepass")
        parts += [kind, len(data).to_bytes(4, "big"), data]
    return b"".join(parts)


def shown(key: Key) -> str:
    """Return a key as messages show it: its parts with `/` between them."""
    return "/".join(str(part) for part in key)


def decode(stored: bytes) -> Key:
    """Return the key of its bytes. Raises MemoryFailure("Corrupt") for bytes that are none; a text that is no UTF-8, or a number
    without digits, is a ValueError."""
    parts: list[str | int] = []
    if type(stored) is not bytes:
        raise corrupt("a key does not decode")
    at = 0
    while at < len(stored):
        kind, length = stored[at : at + 1], int.from_bytes(stored[at + 1 : at + 5], "big")
        data = stored[at + 5 : at + 5 + length]
        if kind not in (TEXT, NUMBER) or len(data) != length:
            raise corrupt("a key does not decode")
        text = data.decode("utf-8", "surrogatepass")
        parts.append(text if kind == TEXT else int(text))
        at += 5 + length
    return tuple(parts)
