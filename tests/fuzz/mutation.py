"""Random mutations of an encoded image, all with a fitting hash, so that they reach the decoder, the verifier and the machine."""

from __future__ import annotations

import hashlib
import json
import random
from typing import Any

import msgpack

HEAD = 8
HASH = 32
INTERESTING = (0, 1, 2, 3, 7, 127, 128, 255, 256, 65535, 2**31, 2**63 - 1, -1, -(2**63))


def sealed(body: bytes) -> bytes:
    return body + hashlib.sha256(body).digest()


def mutate(data: bytes, rng: random.Random, favoured: int = 4) -> bytes:
    """One to three changes of bytes, or of the decoded structure, mostly in the section `favoured`: functions."""
    body = bytearray(data[:-HASH])
    if rng.random() < 0.35:
        for _ in range(rng.randint(1, 3)):
            change_bytes(body, rng)
        return sealed(bytes(body))
    value = msgpack.unpackb(bytes(body[HEAD:]), strict_map_key=False)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        change_structure(value, rng, favoured)
    return sealed(bytes(body[:HEAD]) + msgpack.packb(value))


TEXT = 5  # of a row of a log: its dump, between names of secrets


def change_log(data: bytes, rng: random.Random, where: tuple[int, ...]) -> bytes:
    """A change inside the text of a log; `where` the rows of logs stand."""
    value = msgpack.unpackb(data[HEAD:-HASH], strict_map_key=False)
    logs: Any = value
    for step in where:
        logs = logs[step]
    if not logs:
        return mutate(data, rng)
    log = rng.choice(logs)
    text = [json.loads(log[TEXT][0])]
    change_structure(text, rng, 0)
    log[TEXT] = [json.dumps(text[0], default=repr)]
    return sealed(data[:HEAD] + msgpack.packb(value))


def change_bytes(body: bytearray, rng: random.Random) -> None:
    at = rng.randrange(len(body))
    kind = rng.randrange(4)
    if kind == 0:
        body[at] ^= 1 << rng.randrange(8)
    elif kind == 1:
        body[at] = rng.randrange(256)
    elif kind == 2:
        del body[at : at + rng.randint(1, 8)]
    else:
        body[at:at] = bytes(rng.randrange(256) for _ in range(rng.randint(1, 4)))


def change_structure(value: Any, rng: random.Random, favoured: int) -> None:
    """Walk to a random place and change what stands there."""
    holder, key = value, rng.randrange(len(value))
    if rng.random() < 0.6 and favoured < len(value):  # a change before this one may have cut it off
        holder, key = value, favoured
    while True:
        inner = holder[key]
        if isinstance(inner, list) and inner and rng.random() < 0.93:
            holder, key = inner, rng.randrange(len(inner))
        elif isinstance(inner, dict) and inner and rng.random() < 0.93:
            holder, key = inner, rng.choice(list(inner))
        else:
            break
    holder[key] = changed(holder[key], rng)


def changed(value: Any, rng: random.Random) -> Any:
    if isinstance(value, bytes) and value and rng.random() < 0.95:
        code = bytearray(value)
        for _ in range(rng.choice((1, 1, 2))):
            change_bytes(code, rng)
            if not code:
                break
        return bytes(code)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int) and rng.random() < 0.8:
        near = max(-(2**63), min(2**64 - 1, value + rng.choice((-2, -1, 1, 2))))
        return near if rng.random() < 0.6 else rng.choice(INTERESTING)
    if isinstance(value, str) and rng.random() < 0.6:
        return value[: rng.randrange(len(value) + 1)] + rng.choice(("", "x", "::", "\x00", "é"))
    if isinstance(value, list) and value and rng.random() < 0.7:
        copy = list(value)
        at = rng.randrange(len(copy))
        if rng.random() < 0.5:
            copy.insert(at, copy[rng.randrange(len(copy))])
        else:
            del copy[at]
        return copy
    return rng.choice((None, 0, 1, 2.5, "", "x", [], {}, b"", True, *INTERESTING))
