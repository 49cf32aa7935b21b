"""A host program: the support desk of `examples/desk`, with a person who decides about large refunds.

    python examples/host/desk.py            asks on the terminal
    python examples/host/desk.py --yes      approves everything

The models' replies come from a script, so that this runs without network or keys; leave `offline_script` out to use models.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path

import concerto

Decide = Callable[[concerto.Struct], Awaitable[bool]]
LETTERS = [
    ("ann", "What is order 7?"),
    ("bob", "My desk never came, order 8. I want my money back."),
    ("ann", "Thanks. It arrived broken, please refund it."),
]
# Every letter goes to the router first; then the clerk, or the reader of refunds, answers.
REPLIES = [
    '{"topic": "question"}', "It is our reading lamp.",
    '{"topic": "refund"}', '{"order": "8", "reason": "never arrived"}',
    '{"topic": "refund"}', '{"order": "7", "reason": "arrived broken"}',
]  # fmt: skip


async def ask_on_the_terminal(refund: concerto.Struct) -> bool:
    """Return whether the person at the terminal types `y`."""
    question = f"Pay back {refund.price} euro for order {refund.order} ({refund.reason})? [y/n] "
    return (await asyncio.to_thread(input, question)).strip().lower() == "y"


async def approve(refund: concerto.Struct) -> bool:
    """Return True: every refund is approved."""
    return True


async def answers(decide: Decide) -> list[str]:
    """Return what each customer hears; `decide` is asked about the large refunds."""
    program = concerto.compile(path=Path(__file__).parent.parent / "desk" / "main.conc")
    async with program.session(offline_script=REPLIES) as session:
        session.on_emit("approve", decide)
        return [f"{customer}: {await session.acall('answer', customer, text)}" for customer, text in LETTERS]


def main() -> None:
    for line in asyncio.run(answers(approve if "--yes" in sys.argv else ask_on_the_terminal)):
        print(line)


if __name__ == "__main__":
    main()
