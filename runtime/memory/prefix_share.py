"""How much of a request a memory leaves equal to the request before: what its bound means for prompt caches (O-9.19).

Reckoned for a conversation of equal messages, without system message and tools, which are the same anyway: a bound that moves
its front with every turn leaves nothing. Must not know: logs, providers.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MESSAGES_OF_A_TURN = 2
UNBOUNDED_TURNS = 50
CYCLES = 4
LARGEST = 2000


def bound_of(max_messages: int | None, steps: Mapping[str, Any]) -> tuple[int, int] | None:
    """The tightest bound in messages, and how many are left when it is exceeded; None without a bound. One by tokens moves with
    every turn too, at a number of messages that nobody knows: (0, 0); and so does what a function gives."""
    if "view_with" in steps or "tokens" in steps or "retain_tokens" in steps:
        return 0, 0
    turns = steps.get("window_turns")
    bounds = [(max_messages, steps.get("retain_low")), (steps.get("window"), steps.get("window_low"))]
    bounds.append((None if turns is None else turns * MESSAGES_OF_A_TURN, None))
    known = [(most, most if low is None else low) for most, low in bounds if most is not None]
    return min(known) if known else None


def prefix_share(bound: tuple[int, int] | None) -> int:
    """Percent, on average once the bound is reached; without one over the first fifty turns."""
    most, low = bound or (UNBOUNDED_TURNS * MESSAGES_OF_A_TURN, 0)
    scale = max(most // LARGEST, 1)  # the share hangs on how they are to each other
    most, low = most // scale, low // scale
    if most == low:
        return 0
    held, same, requests = low if bound else 0, 0.0, 0
    moved = True
    for _ in range(UNBOUNDED_TURNS if bound is None else CYCLES * (most - low + MESSAGES_OF_A_TURN)):
        same += 0.0 if moved else (held - MESSAGES_OF_A_TURN + 1) / (held + 1)
        requests += 1
        held += MESSAGES_OF_A_TURN
        moved = bound is not None and held > most
        if moved:
            held = low
    return int(100 * same / requests)


def advice(max_messages: int | None, steps: Mapping[str, Any]) -> str | None:
    """What keeps more, for a memory of which nothing is left the same."""
    bound = bound_of(max_messages, steps)
    if bound is None or prefix_share(bound) > 0 or "view_with" in steps:
        return None
    most = bound[0] or 40
    low = max(most // 2, 1)
    if most <= low:
        return None
    return f"`.window({most}, low: {low})` keeps {prefix_share((most, low))} %"
