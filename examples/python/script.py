"""Import a program of Concerto as a module: `python script.py`, with the key of OpenAI in the environment, or without one
`python script.py --offline`."""

from __future__ import annotations

import asyncio
import sys

import concerto
import concerto.importer  # from here on `import` finds programs
import desk


async def sorted_letters(letters: list[str]) -> list[desk.Ticket]:
    """Return a ticket for each letter, in order."""
    return [await desk.sort(letter) for letter in letters]


def headline(ticket: desk.Ticket) -> str:
    """Return a ticket as one line."""
    match ticket:
        case desk.Ticket(title, "refund", True):
            return f"! {title} (money)"
        case desk.Ticket(title, kind, urgent):
            return f"{'!' if urgent else '-'} {title} ({kind})"


def main() -> None:
    if "--offline" in sys.argv:
        concerto.configure(offline=True)
    letters = ["My chair arrived broken. I want my money back today!", "Do you have it in blue?"]
    tickets = asyncio.run(sorted_letters(letters))
    for ticket in tickets:
        print(headline(ticket), concerto.to_json(ticket))
    customer = desk.Customer(name="Ada", open=tickets)
    print(desk.answer(customer, "And what happens now?"))
    print(desk.messages(customer), "messages")


if __name__ == "__main__":
    main()
