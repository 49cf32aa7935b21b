"""The memories an image declares (M-2.13), as declarations of the runtime.

Must not know: logs, calls.
"""

from __future__ import annotations

from .declared import Declaration
from .policy import Policy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ...vm.bytecode.image import Image, Memory


def declarations(image: Image) -> list[Declaration]:
    found = []
    for memory in image.memories:
        of = None if memory.of is None else image.memories[memory.of].name
        found.append(Declaration(memory.name, _policy(memory), of=of))
    return found


def _policy(memory: Memory) -> Policy:
    if not memory.steps:
        return Policy(retain=memory.max_messages)
    steps: dict[str, Any] = {**memory.steps, "retain": memory.max_messages}
    if "redact" in steps:
        from .redaction import pii

        steps["redact"] = [pii]  # the verifier knows no other word
    return Policy.of(steps)
