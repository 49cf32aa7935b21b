"""Images that must be refused: `images/*.json` and the mutation recipes they hold (C-2.1, `reject` of C-5.1).

Hands on `read_image` to `suite` and `mutate` to the runner. A recipe is a list of steps over the bytes of an image, `{"op": …}`
with the values of the step; it names offsets and bytes, nothing of one implementation. A new step is a function in `_STEPS`.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable
from importlib.resources.abc import Traversable
from typing import Any

from . import keys
from .program import read_object
from .records import Json, Program, SuiteError

_KEYS = {"clause", "also", "level", "program", "bytes", "hex", "mutate", "reject", "about"}
HASH_SIZE = 32


def read_image(path: Traversable) -> Program:
    """Return the program of one description. Raise SuiteError for a wrong one."""
    data = read_object(path)
    if unknown := set(data) - _KEYS:
        raise SuiteError(str(path), 1, f"unknown key {', '.join(sorted(unknown))}")
    if not {"clause", "reject"} <= set(data) or len({"program", "bytes", "hex"} & set(data)) != 1:
        raise SuiteError(str(path), 1, "clause, reject and one of program, bytes, hex are needed")
    match = re.fullmatch(r"(V\d{3}) (load|verify)", data["reject"])
    clauses = [data["clause"], *data.get("also", [])]
    if not match or not all(keys.CLAUSE.match(clause) for clause in clauses):
        raise SuiteError(str(path), 1, "reject is like 'V111 verify', clauses are ids")
    program = Program(f"images/{path.name}", str(path), data["clause"], tuple(clauses[1:]), data.get("level", 5), 1)
    program.reject = match[1], match[2], 1
    program.mutate = data.get("mutate", [])
    try:
        _source(program, data)
    except ValueError as error:
        raise SuiteError(str(path), 1, f"bytes that are written wrongly: {error}") from None
    return program


def _source(program: Program, data: Json) -> None:
    if "program" in data:
        text = data["program"]
        program.files = {"main.conc": text if isinstance(text, str) else "\n".join(text) + "\n"}
    else:
        program.image = bytes.fromhex(data["hex"]) if "hex" in data else base64.b64decode(data["bytes"])


def mutate(image: bytes, recipe: list[Json]) -> bytes:
    """Return the image after every step of the recipe; `image` itself is not changed. Raise ValueError or IndexError for a step
    that does not fit the image, KeyError for an unknown one."""
    changed = bytearray(image)
    for step in recipe:
        _STEPS[step["op"]](changed, step)
    return bytes(changed)


def _at(image: bytearray, step: Json) -> int:
    """Return the offset of a step, from 0; a negative one counts from the end."""
    at = int(step["at"])
    return at if at >= 0 else len(image) + at


def _truncate(image: bytearray, step: Json) -> None:
    del image[_at(image, step) :]


def _set(image: bytearray, step: Json) -> None:
    data = bytes.fromhex(step["hex"])
    at = _at(image, step)
    image[at : at + len(data)] = data


def _xor(image: bytearray, step: Json) -> None:
    image[_at(image, step)] ^= int(step["mask"])


def _insert(image: bytearray, step: Json) -> None:
    at = _at(image, step)
    image[at:at] = bytes.fromhex(step["hex"])


def _delete(image: bytearray, step: Json) -> None:
    at = _at(image, step)
    del image[at : at + int(step["count"])]


def _append(image: bytearray, step: Json) -> None:
    image += bytes.fromhex(step["hex"])


def _replace(image: bytearray, step: Json) -> None:
    old, new = bytes.fromhex(step["find"]), bytes.fromhex(step["hex"])
    at = image.find(old)
    if at < 0:
        raise ValueError(f"the image does not hold {step['find']}")
    image[at : at + len(old)] = new


def _rehash(image: bytearray, step: Json) -> None:
    """Make the closing hash fit again, so that the fault before it is what refuses the image (V-3.1)."""
    image[-HASH_SIZE:] = hashlib.sha256(image[:-HASH_SIZE]).digest()


_STEPS: dict[str, Callable[[bytearray, Any], None]] = {
    "truncate": _truncate,
    "set": _set,
    "xor": _xor,
    "insert": _insert,
    "delete": _delete,
    "append": _append,
    "replace": _replace,
    "rehash": _rehash,
}
