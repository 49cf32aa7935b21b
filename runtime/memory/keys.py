"""The address of a log (M-7): namespace, memory path, key values in declared order, branch.

Hands on tuples and their stored bytes: per part a type byte, a length and the UTF-8 bytes, so that no two keys meet whatever
they hold. Must not know: stores.
"""

from __future__ import annotations

from .errors import InvalidValue, corrupt

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import TypeAlias

    Key: TypeAlias = tuple[str | int, ...]

LONGEST_VALUE = 1024
MAIN_BRANCH = ""
TEXT, NUMBER = b"s", b"i"


def memory_key(namespace: str, path: str, values: Sequence[str | int] = (), branch: str = MAIN_BRANCH) -> Key:
    return (namespace, path, *values, branch)


def branch_of(key: Key) -> str:
    return str(key[-1])


def with_branch(key: Key, branch: str) -> Key:
    return (*key[:-1], branch)


def key_values(names: Sequence[str], given: Mapping[str, object]) -> tuple[str | int, ...]:
    """The values of `.key(a: v, b: v)` in declared order; InvalidValue (P452) for a value no key may have (M-7.4)."""
    if set(given) != set(names):
        raise InvalidValue(f"the key has {', '.join(names)}; given {', '.join(given) or 'nothing'}")
    return tuple(_key_value(name, given[name]) for name in names)


def stored_values(names: Sequence[str], defaults: Mapping[str, str | int], values: Key) -> Key:
    """As a key stands in the store (M-7.9): without the last parts that have what keys before them have there, so that it is the
    key that was written before."""
    count = len(values)
    while 0 < count <= len(names) and names[count - 1] in defaults and defaults[names[count - 1]] == values[count - 1]:
        count -= 1
    return values[:count]


def longer_forms(names: Sequence[str], defaults: Mapping[str, str | int], values: Key) -> list[Key]:
    """What a key with these values was written as by a declaration whose parts had no such values."""
    return [values[:count] for count in range(len(stored_values(names, defaults, values)) + 1, len(values) + 1)]


def declared_values(names: Sequence[str], defaults: Mapping[str, str | int], stored: Key) -> Key | None:
    """The values in declared order; None for a key of another declaration."""
    missing = names[len(stored) :]
    if len(stored) > len(names) or any(name not in defaults for name in missing):
        return None
    return (*stored, *(defaults[name] for name in missing))


def _key_value(name: str, value: object) -> str | int:
    if isinstance(value, bool) or not isinstance(value, (str, int)):
        raise InvalidValue(f"key part {name} is a String or an Int, found {type(value).__name__}")
    if isinstance(value, str) and not 0 < len(value.encode("utf-8", "surrogatepass")) <= LONGEST_VALUE:
        raise InvalidValue(f"key part {name} has 1 to {LONGEST_VALUE} bytes")
    return value


def encode(key: Key) -> bytes:
    """M-7.2; a prefix of a key encodes to a prefix of its bytes."""
    parts = []
    for part in key:
        kind = TEXT if isinstance(part, str) else NUMBER
        data = str(part).encode("utf-8", "surrogatepass")
        parts += [kind, len(data).to_bytes(4, "big"), data]
    return b"".join(parts)


def shown(key: Key) -> str:
    """For messages."""
    return "/".join(str(part) for part in key)


def decode(stored: bytes) -> Key:
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
