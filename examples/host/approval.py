"""A host program: `approval.conc` reads refund requests, a person approves the large ones.

    python examples/host/approval.py            asks on the terminal
    python examples/host/approval.py --yes      approves everything

The model calls are answered by a script, so that this runs without network or keys; leave `offline_script` out to use a model.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import concerto

LETTERS = ["The lamp of order 7 arrived broken, I want my 40 euro back.", "Order 8 never came. It was 350 euro."]
REPLIES = [
    '{"order": "7", "amount": 40, "reason": "arrived broken"}',
    '{"order": "8", "amount": 350, "reason": "never arrived"}',
]


async def ask_on_the_terminal(request: concerto.Struct) -> bool:
    """Return whether the person at the terminal types `y`."""
    question = f"Refund {request.amount} euro for order {request.order} ({request.reason})? [y/n] "
    answer = await asyncio.to_thread(input, question)
    return answer.strip().lower() == "y"


async def approve(request: concerto.Struct) -> bool:
    """Return True: every refund is approved."""
    return True


async def refunds(decide: Callable[[concerto.Struct], Awaitable[bool]]) -> list[str]:
    """Return what the program says about each letter; `decide` is asked about the large refunds."""
    program = concerto.compile(path=Path(__file__).with_suffix(".conc"))
    async with program.session(offline_script=REPLIES) as session:
        session.on("progress", print)
        session.on_emit("approve", decide)
        return [str(await session.acall("refund", letter)) for letter in LETTERS]


def main() -> None:
    for line in asyncio.run(refunds(approve if "--yes" in sys.argv else ask_on_the_terminal)):
        print(line)


if __name__ == "__main__":
    main()
