"""What the names of a program are called in Python (P-2.1): a program may call things as Python cannot.

Hands on `python_names` to `declared_classes`, from which signatures (`python_modules`) and stubs take the same names, and to
`pydantic_models`; KEPT_BY_MODULES, the names that a module has for itself, to the first three. What a name stands for is not
looked at here.
"""

from __future__ import annotations

from collections.abc import Iterable
from keyword import iskeyword

KEPT_BY_MODULES = frozenset({"aio", "session", "Session"})


def python_names(names: Iterable[str], kept: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the name in Python of each name of a program, of a path, or of a key of a type, all different from each other and
    from `kept`: `a::b` is `a_b`; a name that begins with two underscores, which Python treats in a way of its own, gets an `x`
    before it; a keyword and a kept name get an underscore behind it, and more where that is taken too. A name that needs no
    change has none, whatever the others are."""
    spelled = {name: _spelled(name) for name in dict.fromkeys(names)}
    same = {name for name, text in spelled.items() if name == text and text not in kept and not iskeyword(text)}
    result = {name: name for name in spelled if name in same}
    taken = {*kept, *same}
    for name, text in spelled.items():
        if name in same:
            continue
        while text in taken or iskeyword(text):
            text += "_"
        taken.add(text)
        result[name] = text
    return {name: result[name] for name in spelled}


def _spelled(name: str) -> str:
    text = name.replace("::", "_").replace("#", "_")
    return f"x{text}" if text.startswith("__") else text
