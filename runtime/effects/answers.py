"""What comes from outside as a value of a declared type, to any depth: the answer of a host to a declared channel (O-5.37), and
the answer of a test in place of a model (O-8.28).

Hands on `read_answer` to `world.py` and `tests.py`, and to `journal/border.py`, which checks a recorded answer by it. Who
answers, and what becomes of an answer that does not fit, is for these.
"""

from __future__ import annotations

import json

from ...vm.builtins.json import SCALARS, Misfit, StoredBuilder
from ...vm.values import Map, check, from_json, to_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ..running import EffectContext


def read_answer(run: EffectContext, answer: Any, descriptor: Any) -> Any:
    """Return a value of the type with this descriptor (a tuple such as `("string",)`) for `answer`, a value of the machine: one
    of the type already, or one in its JSON form (L-5.1.9), in which a missing field takes its default; a text is a Prompt, too.

    Raises Misfit with the place, as `… at $.items[2].name`, for any other, but panic P007 where the type is one of SCALARS.
    Raises a Panic, too, where a default cannot be computed, and P103 for an answer beyond the limits on JSON."""
    head, is_text = descriptor[0], type(answer) is str
    if head in SCALARS and head != "any" and not (head == "bytes" and is_text):
        return check(answer, descriptor)  # JSON has no NaN, and its texts may be Bytes
    if head == "prompt" and is_text:
        answer = Map({"text": answer})
    builder = StoredBuilder(run.program, run.machine.memories.computed)
    try:
        return builder.stored(from_json(json.loads(to_json(answer))), descriptor)
    except Misfit as misfit:
        raise Misfit(f"{misfit} at {builder.place()}") from None
    except (RecursionError, ValueError) as error:
        raise Misfit(str(error)) from None
