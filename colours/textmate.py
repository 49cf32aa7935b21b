"""A TextMate grammar of the language, made from the lexer's tables: for editors that colour by patterns, line by line.

Hands on `grammar` to `tools/gen_colours.py`, which writes it into the editors' folder. Patterns see one line and no brackets
before it, so the words that are keywords at some places only are told by what stands beside them; the tests compare the result
with the compiler's lexer. A new kind of pattern is an entry of `_PARTS`, whose order is the order in which an editor tries them;
a new soft word needs a pattern too, as the assertion at the end demands. Nothing is written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from ..compiler.syntax.lexer import CLAUSE_WORDS, DECLARING_WORDS, HARD_KEYWORDS, SOFT_WORDS, TIER_WORDS, words
from .classes import CLASS_OF_SIGN, CLASS_OF_WORD, CLASSES, DECLARING, ESCAPE

SCOPE = "source.concerto"
NAME = r"[A-Za-z_][A-Za-z0-9_]*"
_ALONE = r"(?<![A-Za-z0-9_])"
_ENDS = r"(?![A-Za-z0-9_])"
_KEPT = words("true false nil self")  # L-1.3.5: themselves, also before `:`
# Words that stand in front of another word only where they are keywords; the others have a row of their own below.
_BEFORE = {
    "listen": r"(?=[ \t]+[A-Za-z_])", "spawn": r"(?=[ \t]+[A-Za-z_])", "parallel": r"(?=[ \t]+for\b)",
}  # fmt: skip

Rule = dict[str, Any]


def grammar() -> Rule:
    """Return the grammar as a dict that JSON can hold, in the form that editors with TextMate grammars read; nothing raises."""
    return {
        "$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
        "name": "Concerto",
        "scopeName": SCOPE,
        "fileTypes": ["conc"],
        "firstLineMatch": r"^#!.*\bconcerto\b",
        "patterns": [{"match": r"\A#!.*$", "name": _scope("comment", "line.shebang")}, {"include": "#code"}],
        "repository": {
            "code": {"patterns": [{"include": f"#{part}"} for part in _PARTS]},
            **_PARTS,
            "hole": _hole(),
            "nested": _nested(),
            "escape": _escape(),
            "block": _block(),
        },
    }


def _scope(class_: str, more: str = "") -> str:
    return ".".join(filter(None, (CLASSES[class_].scope, more, "concerto")))


def _any(texts: Iterable[str]) -> str:
    """Return a pattern for any of the texts, the longest first, since an operator may begin like a shorter one."""
    return "|".join(re.escape(text) for text in sorted(texts, key=lambda text: (-len(text), text)))


def _match(pattern: str, class_: str, more: str = "") -> Rule:
    return {"match": pattern, "name": _scope(class_, more)}


def _together(*rules: Rule) -> Rule:
    return {"patterns": list(rules)}


# ---------------------------------------------------------------- comments and strings


def _comments() -> Rule:
    block = {**_block(), "name": _scope("comment", "block")}
    return _together(_match(r"///(?!/).*$", "documentation"), _match(r"//.*$", "comment", "line.double-slash"), block)


def _block() -> Rule:
    """Return the rule of a block comment, which may hold others."""
    return {"begin": r"/\*", "end": r"\*/", "patterns": [{"include": "#block"}]}


def _escape() -> Rule:
    return _together(_match(ESCAPE, "escape"), _match(r"\\.?", "error", "escape"))


def _hole() -> Rule:
    return {
        "begin": r"\$\{", "end": r"\}", "name": "meta.embedded.line.concerto",
        "beginCaptures": {"0": {"name": _scope("hole", "begin")}}, "endCaptures": {"0": {"name": _scope("hole", "end")}},
        "patterns": [{"include": "#nested"}, {"include": "#code"}],
    }  # fmt: skip


def _nested() -> Rule:
    """Return the rule of braces within a hole, whose closing brace does not end the hole."""
    return {
        "begin": r"\{", "end": r"\}", "patterns": [{"include": "#nested"}, {"include": "#code"}],
        "beginCaptures": {"0": {"name": _scope("punctuation", "brace")}},
        "endCaptures": {"0": {"name": _scope("punctuation", "brace")}},
    }  # fmt: skip


def _string(begin: str, end: str, more: str, *, literal: bool = False) -> Rule:
    inside = [] if literal else [{"include": "#escape"}, {"include": "#hole"}]
    return {"begin": begin, "end": end, "name": _scope("string", more), "patterns": inside}


def _strings() -> Rule:
    return _together(
        _string(_ALONE + r'r(#+)"', r'"\1', "raw", literal=True),
        _string('"""', '"""', "triple"),
        _string('"', '"|$', "double"),
        _string("'", "'|$", "single"),
    )


def _labels() -> Rule:
    """Return the rules of labels (L-1.6.1). They stand before the strings, which begin with the same quote."""
    after_jump = rf"(?<=break|continue)([ \t]+)('{NAME})(?!')"
    name = {"name": _scope("label")}
    loops = r"[ \t]*(?:for|while|loop)\b"
    return _together(
        {"match": after_jump, "captures": {"2": name}},
        _match(rf"'{NAME}(?=[ \t]*:(?!:)(?:{loops}|[^'\n]*$))", "label"),
    )


# ---------------------------------------------------------------- numbers, signs


def _numbers() -> Rule:
    decimal = r"[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9][0-9_]*)?"
    radix = r"0(?:[xX][0-9A-Fa-f_]+|[oO][0-7_]+|[bB][01_]+)"
    return _together(_match(f"{_ALONE}(?:{radix}|{decimal}){_ENDS}", "number"), _match(r"[0-9][0-9A-Za-z_]*", "error", "number"))


def _signs() -> Rule:
    by_class: dict[str, list[str]] = {}
    for sign, class_ in CLASS_OF_SIGN.items():
        if sign != "@":
            by_class.setdefault(class_, []).append(sign)
    # an operator may begin with a sign of punctuation: `..` with `.`
    return _together(_match(_any(by_class["operator"]), "operator"), _match(_any(by_class["punctuation"]), "punctuation"))


def _members() -> Rule:
    """Return the rules of what stands behind `.` and `::`: a name, whatever the word; of numbers only digits (L-1.3.5,
    L-1.4.5)."""
    dot = {"name": _scope("punctuation", "accessor")}
    gap = r"[ \t]*"
    return _together(
        {"match": r"(?<!\.)(\.)([0-9]+)", "captures": {"1": dot, "2": {"name": _scope("number")}}},
        {"match": rf"(?<!\.)(\.){gap}(await){_ENDS}", "captures": {"1": dot, "2": {"name": _scope("control")}}},
        *(
            {"match": rf"{mark}{gap}({name})", "captures": {"1": dot, "2": {"name": _scope(class_)}}}
            for mark in (r"(?<!\.)(\.)(?!\.)", "(::)")
            for name, class_ in _NAMES
        ),
    )


# ---------------------------------------------------------------- words

# The guesses of a reader about a name; in the order in which they are tried.
_NAMES = (
    (r"[A-Z][A-Za-z0-9_]*", "type"),
    (rf"{NAME}(?=[ \t]*\()", "function"),
    (NAME, "name"),
)


def _decorators() -> Rule:
    sign, name = {"name": _scope("decorator", "sign")}, {"name": _scope("decorator")}
    return {"match": rf"(@)[ \t]*({NAME})?", "captures": {"1": sign, "2": name}}


def _keys() -> Rule:
    """Return the rule of a word before a single `:`, which is a name, but for `true`, `false`, `nil` and `self` (L-1.3.5)."""
    return _match(rf"{_ALONE}(?!(?:{_any(_KEPT)}){_ENDS}){NAME}(?=[ \t]*\??[ \t]*:(?!:))", "name", "key")


def _hard_words() -> Rule:
    by_class: dict[str, list[str]] = {}
    for word in HARD_KEYWORDS:
        by_class.setdefault(CLASS_OF_WORD[word], []).append(word)
    rules = [_match(f"{_ALONE}(?:{_any(chosen)}){_ENDS}", class_) for class_, chosen in by_class.items()]
    self_name = _match(f"{_ALONE}self(?=[ \t]*::)", "name")
    declared = {
        "match": rf"{_ALONE}(fn)[ \t]+({NAME})",
        "captures": {"1": {"name": _scope("declaring")}, "2": {"name": _scope("function")}},
    }
    return _together(self_name, declared, *rules)


def _soft_words() -> Rule:
    """Return the rules of words that are keywords at some places only (L-1.3.3). A declaring word and one of a clause stand
    before another word, and nowhere else do two names stand side by side."""
    word = rf"(?=[ \t]+(?!(?:{_any(HARD_KEYWORDS)}){_ENDS})[A-Za-z_])"
    rules = [
        _match(f"{_ALONE}(?:{_any(chosen)}){_ENDS}{word}", class_)
        for chosen, class_ in ((DECLARING_WORDS, "declaring"), (CLAUSE_WORDS, "modifier"))
    ]
    # The model behind `by` may be a field of `self`.
    rules.append(_match(rf"{_ALONE}by{_ENDS}(?=[ \t]+self{_ENDS})", "modifier"))
    tier = {
        "match": rf"(?:^|(?<=[{{}};]))[ \t]*({_any(TIER_WORDS)})(?=[ \t]*\{{)",
        "captures": {"1": {"name": _scope("modifier")}},
    }
    before = [_match(f"{_ALONE}{word}{_ENDS}{after}", "control") for word, after in _BEFORE.items()]
    limit = _match(rf"{_ALONE}limit{_ENDS}(?=[ \t]+(?!(?:{_any(HARD_KEYWORDS)}){_ENDS})[A-Za-z0-9_(])", "control")
    return _together(*rules, tier, *before, limit)


def _imports() -> Rule:
    """Return the rule of `use a::{self, b}`, in which `self` is a module and no receiver."""
    return {
        "begin": f"{_ALONE}use{_ENDS}", "end": rf"(?=;)|^(?=[ \t]*(?:{_any(DECLARING)}){_ENDS})",
        "beginCaptures": {"0": {"name": _scope("declaring")}},
        "patterns": [_match(f"{_ALONE}self{_ENDS}", "name"), {"include": "#code"}],
    }  # fmt: skip


def _names() -> Rule:
    return _together(*(_match(_ALONE + name, class_) for name, class_ in _NAMES))


_PARTS: dict[str, Rule] = {
    "comments": _comments(),
    "labels": _labels(),
    "strings": _strings(),
    "decorators": _decorators(),
    "members": _members(),
    "keys": _keys(),
    "imports": _imports(),
    "soft-words": _soft_words(),
    "hard-words": _hard_words(),
    "names": _names(),
    "numbers": _numbers(),
    "signs": _signs(),
    "refused": _match(r"[^\s]", "error", "character"),
}
assert DECLARING_WORDS | CLAUSE_WORDS | TIER_WORDS | {"limit", *_BEFORE} == SOFT_WORDS, "a soft word has no pattern"
