"""Random mutations of source texts: bytes, tokens, lines, pieces of other programs, deep nesting, long chains."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

TOKEN = re.compile(r"\s+|//[^\n]*|[A-Za-z_]\w*|\d[\w.]*|\"[^\"\n]*\"|[-+*/%=!<>&|?.:]{1,3}|.", re.DOTALL)
DEPTHS = (2, 10, 100, 254, 256, 258, 700)
NESTS = (
    ("(", ")"), ("[", "]"), ("{", "}"), ("Some(", ")"), ("{ \"k\": ", " }"), ("-", ""), ("!", ""),
    ("if true { ", " } else { 1 }"),
    ("|x| ", ""), ("match 1 { _ => ", " }"), ("try { ", " }"), ("\"${", "}\""), ("Array<", ">"), ("return ", ""), ("(", ",)"),
    ("loop { break ", " }"), ("&", ""), ("await ", ""),
)  # fmt: skip
CHAINS = (
    " + 1", ".x", "?", "[0]", "()", " |> f", " ?? 1", " as Int", "::A", " && true", ", 1", " = 1", ".m(1)", " else if true {}",
    ".await",
)  # fmt: skip

CHARACTERS = "\"'`${}()[]<>|&?!.,;:=+-*/%@#\\\n0_aZ\u202e\ufeff\u00e4"
BYTES = (0, 9, 10, 34, 39, 92, 128, 195, 239, 255)

Mutator = Callable[[str, "Corpus", random.Random], str]


class Corpus:
    """The texts that pieces are taken from."""

    def __init__(self, texts: list[str]) -> None:
        self.texts = texts
        self.tokens = sorted({token for text in texts for token in TOKEN.findall(text) if not token.isspace()})


def mutate(text: str, corpus: Corpus, rng: random.Random) -> bytes:
    """One to four changes; the last ones may break the encoding."""
    for _ in range(rng.choice((1, 1, 2, 2, 3, 4))):
        text = rng.choice(MUTATORS)(text, corpus, rng)
    data = text.encode("utf-8", "replace")
    return change_bytes(data, rng) if rng.random() < 0.15 else data


def change_bytes(data: bytes, rng: random.Random) -> bytes:
    body = bytearray(data or b" ")
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(len(body))
        body[at : at + rng.randrange(3)] = bytes(rng.choice(BYTES) for _ in range(rng.randrange(3)))
        body = body or bytearray(b"\n")
    return bytes(body)


def change_character(text: str, corpus: Corpus, rng: random.Random) -> str:
    at = rng.randrange(len(text) + 1)
    return text[:at] + rng.choice(CHARACTERS) * rng.randrange(3) + text[at + rng.randrange(3) :]


def change_tokens(text: str, corpus: Corpus, rng: random.Random) -> str:
    tokens = TOKEN.findall(text)
    if not tokens:
        return rng.choice(corpus.tokens)
    at, other = rng.randrange(len(tokens)), rng.randrange(len(tokens))
    kind = rng.randrange(5)
    if kind == 0:
        del tokens[at]
    elif kind == 1:
        tokens[at] = rng.choice(corpus.tokens)
    elif kind == 2:
        tokens[at], tokens[other] = tokens[other], tokens[at]
    elif kind == 3:
        tokens.insert(at, tokens[other])
    else:
        tokens.insert(at, f" {rng.choice(corpus.tokens)} ")
    return "".join(tokens)


def change_lines(text: str, corpus: Corpus, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    kind = rng.randrange(3)
    if kind == 0:
        del lines[at : at + rng.randint(1, 3)]
    elif kind == 1:
        lines.insert(rng.randrange(len(lines)), lines[at])
    else:
        lines.insert(rng.randrange(len(lines)), lines.pop(at))
    return "\n".join(lines)


def splice(text: str, corpus: Corpus, rng: random.Random) -> str:
    """Some lines, or some tokens, of another program."""
    other = rng.choice(corpus.texts)
    pieces = other.split("\n") if rng.random() < 0.5 else TOKEN.findall(other)
    start = rng.randrange(len(pieces) + 1)
    piece = ("\n" if "\n" in other else "").join(pieces[start : start + rng.randint(1, 12)])
    at = rng.choice([match.end() for match in TOKEN.finditer(text)] or [0])
    return text[:at] + piece + text[at:]


def nest(text: str, corpus: Corpus, rng: random.Random) -> str:
    """One token inside many brackets."""
    opening, closing = rng.choice(NESTS)
    depth = rng.choice(DEPTHS)
    places = list(TOKEN.finditer(text))
    if not places:
        return opening * depth + closing * depth
    token = rng.choice(places)
    return text[: token.start()] + opening * depth + token[0] + closing * depth + text[token.end() :]


def chain(text: str, corpus: Corpus, rng: random.Random) -> str:
    """One token with a long tail."""
    places = [match.end() for match in TOKEN.finditer(text)] or [0]
    at = rng.choice(places)
    return text[:at] + rng.choice(CHAINS) * rng.choice((2, 50, 300, 1500)) + text[at:]


MUTATORS: tuple[Mutator, ...] = (
    change_character, change_character, change_tokens, change_tokens, change_tokens, change_lines, splice, splice, nest, chain,
)  # fmt: skip
