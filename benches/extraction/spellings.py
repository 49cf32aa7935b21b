"""JSON values written in the spellings of O-2.55, and placed in replies: what is written comes back equal, by construction.

Hands on texts. Must not know: how replies are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Set
from random import Random
from typing import Any

# What a rendering may differ from JSON in; each token draws among those it is given.
SPELLINGS = ("single", "curly", "bare", "python", "raw", "commas", "comments", "hashes", "numbers", "space", "escapes")

BARE_KEY = re.compile(r"(?:[^\W\d]|\$)[\w$-]*")
NOT_BARE = {"True", "False", "None", "true", "false", "null"}
ODD_SPACE = "\xa0\u2003\u3000\u200b\ufeff\x0b\x0c\u2028"
REMARKS = ("what the caller said", "it's given", 'see "b"', "} ] {", "TODO: check", "x, y: 1", "50 % of it", "[maybe]")


class Writer:
    """Writes values; `indent` puts every member on a line of its own."""

    def __init__(self, chance: Random, spellings: Set[str], indent: bool = False) -> None:
        self.chance = chance
        self.spellings = spellings
        self.indent = indent

    def text(self, value: Any, depth: int = 0) -> str:
        if isinstance(value, dict):
            items = [f"{self.key(name)}:{self.gap() or ' '}{self.text(v, depth + 1)}" for name, v in value.items()]
            return self.items("{", items, "}", depth)
        if isinstance(value, list):
            return self.items("[", [self.text(item, depth + 1) for item in value], "]", depth)
        if isinstance(value, str):
            return self.string(value)
        if value is None or isinstance(value, bool):
            return str(value) if "python" in self.spellings else json.dumps(value)
        return self.number(value)

    def items(self, opening: str, items: list[str], closing: str, depth: int) -> str:
        if not items:
            return f"{opening}{self.gap()}{closing}"
        line, last = ("\n" + "  " * (depth + 1), "\n" + "  " * depth) if self.indent else ("", "")
        joined = self.separator(opening) + (line or " ")
        if "commas" not in self.spellings:
            joined = "," + (line or " ")
        body = "".join(item + (joined if n < len(items) - 1 else "") + self.gap() for n, item in enumerate(items))
        trailing = "," if "commas" in self.spellings and self.chance.random() < 0.7 else ""
        return f"{opening}{self.gap()}{line}{body}{trailing}{self.gap()}{last}{closing}"

    def separator(self, opening: str) -> str:
        """In an object a comma too many means nothing; in a list it could stand for a value."""
        return ",," if opening == "{" and self.chance.random() < 0.1 else ","

    def gap(self) -> str:
        """White space and comments between two tokens."""
        gap = ""
        if "space" in self.spellings and self.chance.random() < 0.3:
            gap += self.chance.choice(ODD_SPACE)
        if "comments" in self.spellings and self.chance.random() < 0.15:
            remark = self.chance.choice(REMARKS)
            gap += f" // {remark}\n" if self.chance.random() < 0.5 else f" /* {remark} */ "
        if "hashes" in self.spellings and self.chance.random() < 0.15:
            gap += f" # {self.chance.choice(REMARKS)}\n"
        return gap

    def key(self, name: str) -> str:
        """A bare one directly before its colon, or white space."""
        if "bare" in self.spellings and BARE_KEY.fullmatch(name) and name not in NOT_BARE:
            return name + self.chance.choice(["", "", " "])
        return self.string(name) + self.gap()

    def string(self, text: str) -> str:
        kinds = [kind for kind in ("single", "curly") if kind in self.spellings]
        kind = self.chance.choice([*kinds, "double"]) if self.chance.random() < 0.3 else self.chance.choice(kinds or ["double"])
        if kind == "curly" and re.search("[“”„‘’]", text):
            kind = "double"
        plain = json.dumps(text, ensure_ascii=False)[1:-1]
        if "raw" in self.spellings:
            plain = re.sub(r"(\\\\)|\\n|\\t|\\r", lambda m: m[1] or {"\\n": "\n", "\\t": "\t", "\\r": "\r"}[m[0]], plain)
        if kind == "double":
            return '"' + (plain.replace("'", "\\'") if "escapes" in self.spellings else plain) + '"'
        plain = re.sub(r'(\\\\)|\\"', lambda m: m[1] or '"', plain)
        if kind == "curly":
            begin, end = self.chance.choice(("“”", "“”", "“”", "„“", "„”", "””", "‘’", "’’"))
            return begin + plain + end
        return "'" + plain.replace("'", "\\'") + "'"

    def number(self, value: int | float) -> str:
        text = json.dumps(value)
        if "numbers" not in self.spellings:
            return text
        sign, digits = ("-", text[1:]) if text[0] == "-" else (self.chance.choice(["", "+"]), text)
        if digits.startswith("0.") and "e" not in digits:
            digits = digits[1:]
        elif isinstance(value, int) and abs(value) >= 1000:
            digits = f"{abs(value):_}"
        return sign + digits


# ---------------------------------------------------------------- around the value

HEADS = (
    "Here is the JSON you asked for:", "Sure!",
    "I filled in {the fields} as best I could [1].", "Result:",
    "Based on the text, I'd say:",
    "**Answer**\n",
    "First I looked at the `title`, then at the [tags].", "OK — don't worry, it's all there:",
)  # fmt: skip
TAILS = (
    "Let me know if you need anything else!", "Note: {anything} missing was left out [2].", "Hope that's right.",
    "(That's all.)",
    "I wasn't sure about one of them.",
)  # fmt: skip
THOUGHTS = (
    'The user wants JSON. Maybe {"key": "draft", "name": "x"}? No.',
    "Let me see { what it says.\n- one ]\n- two", "Hm.\n```json\n{}\n```\n",
)  # fmt: skip
PLACES = (
    "alone", "prose", "fence", "prose and fence", "tilde fence", "open fence", "inline fence", "thinking", "end of thinking",
    "list of one", "bracket too many", "quoted",
)  # fmt: skip


def placed(text: str, place: str, chance: Random) -> tuple[str, str]:
    """What stands before the value and behind it."""
    head, tail, thought = chance.choice(HEADS), chance.choice(TAILS), chance.choice(THOUGHTS)
    language = chance.choice(["json", "", "JSON", "json5", "python"])
    fence = f"```{language}\n"
    return {
        "alone": ("", ""),
        "prose": (f"{head} ", f"\n{tail}"),
        "fence": (fence, "\n```"),
        "prose and fence": (f"{head}\n\n{fence}", f"\n```\n\n{tail}"),
        "tilde fence": (f"{head}\n~~~{language}\n", "\n~~~\n"),
        "open fence": (f"{head}\n{fence}", "\n"),
        "inline fence": ("```json ", "```"),
        "thinking": (f"<think>{thought}</think>\n", f"\n{tail}"),
        "end of thinking": ("Let me think about it. I will say what I know.\n</think>\n\n", ""),
        "list of one": ("[", "]"),
        "bracket too many": ("", "}"),
        "quoted": ('"', '"'),
    }[place]
