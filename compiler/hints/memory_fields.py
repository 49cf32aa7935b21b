"""Steps of memories in messages, as the fields of a memory block (M-2.26).

Hands on `as_fields`, by which resolver and checker word what they say of a block, and the language server what it shows of a
field: messages and examples are written for chains, `.window(turns: 20)`, and a block has `window: { turns: 20 }`. Nothing is
reported here. How a message is worded for chains stands where it is made; a phrase about steps that fields need in other words is
a row of _WORDS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ...vm.memory_steps import STEPS

_LINK = re.compile(rf"\.({'|'.join(STEPS)})\(")
_CHAIN = re.compile(rf"(?<![\w)\]}}])(?:Memory::of\((\w+)\)|(?={_LINK.pattern}))")
_NAMED = re.compile(r"\w+: ")
# How messages name what they are about, in a chain and in a block.
_WORDS = (
    (re.compile(r"\bthe step `"), "the field `"),
    (re.compile(r"\ba memory has no step `"), "a memory has no field `"),
    (re.compile(r"\bis no step of\b"), "is no field of"),
    (re.compile(r"\Asteps are: "), "fields are: "),
    (re.compile(r"\bjoin them in one step\b"), "join them in one field"),
    (re.compile(r"`Memory::of` takes"), "`of` takes"),
)
_NO_LEAD = re.compile(r"`(\w+)` takes 1 argument without a name, 0 given")


def as_fields(text: str) -> str:
    """Return a message, a help or an example with fields of a block in place of the steps of a chain. Calls of anything but
    steps, and of steps on something that is written before the dot, other than `Memory::of(m)`, stay as they are."""
    for pattern, instead in _WORDS:
        text = pattern.sub(instead, text)
    text = _NO_LEAD.sub(lambda match: f"`{match[1]}` lacks `{', '.join(STEPS[match[1]].lead)}`", text)
    parts, at = [], 0
    while (chain := _CHAIN.search(text, at)) is not None:
        fields = [f"of: {chain[1]}"] if chain[1] else []
        parts.append(text[at : chain.start()])
        at = chain.end()
        while (link := _LINK.match(text, at)) is not None:
            at = _end_of_call(text, link.end())
            fields.append(_field(link[1], text[link.end() : at - 1]))
        parts.append(", ".join(fields))
    return "".join([*parts, text[at:]])


def _end_of_call(text: str, start: int) -> int:
    """Return the offset behind the bracket that closes the one before `start`."""
    depth = 1
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if not depth:
            return at + 1
    return len(text)


def _field(step: str, arguments: str) -> str:
    """Return the field that says what a step with these arguments says."""
    row = STEPS[step]
    values = [value.strip() for value in _split(arguments) if value.strip()]
    if step == "per":
        return f"per: [{', '.join(f'{{ {value} }}' if _NAMED.match(value) else value for value in values)}]"
    if not values:
        return f"{step}: true"
    leads = iter(row.lead)
    labelled = [value if _NAMED.match(value) else f"{next(leads, '')}: {value}".removeprefix(": ") for value in values]
    single = len(values) == 1 and not _NAMED.match(values[0])
    return f"{step}: {values[0]}" if single else f"{step}: {{ {', '.join(labelled)} }}"


def _split(arguments: str) -> Iterator[str]:
    """Yield the parts between the commas of a list of arguments."""
    depth = start = 0
    for at, character in enumerate(arguments):
        depth += (character in "([{") - (character in ")]}")
        # Between the two `|` of a closure no example has a comma.
        if character == "," and not depth:
            yield arguments[start:at]
            start = at + 1
    yield arguments[start:]
