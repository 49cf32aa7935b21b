"""The conversation that everybody holds: its system message and its questions."""

TURNS = 50
SYSTEM = "You answer questions of customers of a shop that sells lamps, shades, cables and switches. " * 70


def question(number: int) -> str:
    """Return what is asked in a turn, by its number from 0: a different text of some 60 words each time."""
    return f"Question {number}: what of the lamp on shelf {number * 3}, " + "is it there, does it fit the hall, and how long " * 6
