"""What makes an image larger than it may be (G-3.2, G-5.2): told of the source before the verifier refuses the image.

Hands on `excesses`: file number, line, column and text of each; `too_costly`. Must not know: trees, how the code came to be.
"""

from __future__ import annotations

from collections.abc import Iterator

from ...vm.bytecode import image as im
from ...vm.bytecode.codec import encode
from ...vm.bytecode.image import ImageError
from ...vm.bytecode.limits import DEFAULT
from ...vm.bytecode.positions import position_at

Excess = tuple[int, int, int, str]


def excesses(image: im.Image) -> Iterator[Excess]:
    """Those of the whole program stand at its beginning."""
    for what, count, most in (
        ("functions", len(image.functions), DEFAULT.functions),
        ("constants", len(image.constants), DEFAULT.constants),
    ):
        if count > most:
            yield 0, 1, 1, f"the program has {count} {what}, the limit is {most}"
    if any(kind == im.K_STRING and len(value.encode()) > DEFAULT.string for kind, value in image.constants):
        yield 0, 1, 1, f"a string of the program is longer than {DEFAULT.string} bytes"
    for function in image.functions:
        yield from _of_function(function)


MODERATE = 100_000  # values in an image that no reader refuses for their number alone


def too_costly(image: im.Image) -> str | None:
    """Why no reader would take the image, of one that holds so much that it has to be tried."""
    names = sum([len(rows) for rows in image.names])
    if 5 * names + 40 * len(image.functions) + 4 * len(image.constants) <= MODERATE:
        return None
    try:
        encode(image)
    except ImageError as error:
        return error.message
    return None


def _of_function(function: im.Function) -> Iterator[Excess]:
    at = position_at(function.lines, 0)
    for what, count, most in (
        ("values that wait for each other: arguments, elements, operands", function.stack, DEFAULT.stack),
        ("variables", function.slots, DEFAULT.locals),
        ("captured variables", function.cells, DEFAULT.locals),
        ("parameters", len(function.params), DEFAULT.parameters),
    ):
        if count > most:
            yield *at, f"`{function.name}` has {count} {what}; the limit is {most}"
