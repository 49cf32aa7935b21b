"""Decorators: names, places, arguments (L-1.8, O-1.56 to O-1.59).

Hands on `check_decorators`: those that stand there rightly, with their constant arguments. Must not know: what they do.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...vm.declaration_fields import DECORATORS
from ..fields import Rule, arguments
from ..hints.names import did_you_mean, listed
from ..source import Span
from ..syntax import ast
from .config import check_value
from .declarations import FAILED
from .state import Checker

# Decorators of other languages.
ELSEWHERE = {
    **dict.fromkeys(("dataclass", "dataclasses", "derive"), "drop it: a `struct` compares and prints its fields by itself"),
    **dict.fromkeys(("staticmethod", "classmethod"), "drop it: a function without `self` belongs to the type: `T::f()`"),
    "property": "drop it: methods are called with brackets: `x.f()`",
    **dict.fromkeys(("pytest", "Test", "it"), 'write `@test("what it shows")`'),
    **dict.fromkeys(("tool", "function_tool"), 'declare it: `tool Name { description: "…", pub fn f(self) -> T { … } }`'),
    **dict.fromkeys(
        ("allow", "permissions"), "permissions come from outside: `--allow-net`, or `[permissions]` of Concerto.toml"
    ),
    **dict.fromkeys(
        ("cache", "lru_cache", "memoize"), "keep results in a hashmap: `hashmap seen: HashMap<String, Int> = HashMap::new();`"
    ),
}
Checked = list[tuple[str, dict[str, object]]]
# Arguments that are handed on as they are written: what they hold depends on what is decorated (testing.py).
UNREAD = frozenset((("test", "cases"),))


def check_decorators(c: Checker, decorators: list[ast.Decorator], place: str) -> Checked:
    seen: dict[str, ast.Decorator] = {}
    found: Checked = []
    for node in decorators:
        name = node.name.text
        if name not in DECORATORS:
            there = listed("decorators", [f"@{known}" for known, row in DECORATORS.items() if place in row.places])
            there = there or f"drop it: {_article(place)} {place} takes none"
            help = ELSEWHERE.get(name) or did_you_mean(name, DECORATORS) or there
            c.report("E4001", node.name.span, f"unknown decorator `@{name}`", help=help)
        elif place not in DECORATORS[name].places:
            places = ", ".join(DECORATORS[name].places)
            c.report("E4009", node.span, f"`@{name}` cannot stand on {_article(place)} {place}", help=f"it belongs on: {places}")
        elif name in seen:
            c.report("E4009", node.span, f"`@{name}` stands twice", first=seen[name].span, help="keep one of them")
        elif name == "validate":
            found.append((name, {}))  # its function is looked at where the schema is (schemas.py)
        else:
            found.append((name, _arguments(c, node, arguments(name, place))))
        seen.setdefault(name, node)
    return found


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def check_parts(c: Checker, parts: Sequence[ast.Field | ast.Parameter] | None, place: str) -> list[Checked]:
    """The decorators of fields or parameters."""
    return [check_decorators(c, part.decorators, place) for part in parts or ()]


def _arguments(c: Checker, node: ast.Decorator, rules: dict[str, Rule]) -> dict[str, object]:
    name = node.name.text
    given: dict[str, object] = {}
    places: dict[str, Span] = {}
    order = list(rules)
    for position, argument in enumerate(node.arguments):
        if argument.name is not None:
            key = argument.name.text
        elif position < len(order):
            key = order[position]
        else:
            c.report(
                "E4009", argument.span, f"`@{name}` takes {len(order)} argument(s), {len(node.arguments)} given",
                help=f"it takes `({', '.join(order)})`",
            )
            continue
        if key not in rules:
            assert argument.name is not None
            help = did_you_mean(key, rules) or (f"it takes `({', '.join(order)})`" if order else f"write `@{name}` alone")
            c.report("E4001", argument.name.span, f"`@{name}` has no argument `{key}`", help=help)
        elif key in given:
            c.report("E4009", argument.span, f"`@{name}` gets `{key}` twice", first=places[key], help="keep one of them")
        else:
            places[key] = argument.span
            if (name, key) in UNREAD:
                given[key] = argument.value
                continue
            given[key] = check_value(c, key, argument.value, rules[key], constant=True, code="E4009")
    required = DECORATORS[name].required
    if required is not None and required not in given and not node.arguments:
        c.report("E4009", node.span, f"`@{name}` needs `{required}`", help=f"write `@{name}({required}: …)`")
    return {key: value for key, value in given.items() if value is not FAILED}
