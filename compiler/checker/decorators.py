"""Decorators: names, places, arguments (L-1.8, O-1.56 to O-1.59).

Hands on `check_decorators`, which returns those that may stand there with their constant arguments (`Checked`), to the check of
each declaration, which knows what they mean, and `check_parts`, for fields and parameters, to `declaration_checks` and
`functions`. Which decorators there are, where they may stand and what they take is the table `vm/declaration_fields.py`; a word
of another language gets its help in ELSEWHERE. `c` is the state of the check: mistakes are reported to it by a code (E…; W… for a
warning), and not raised. What a decorator does is not known here.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...vm.declaration_fields import DECORATORS
from ..fields import Rule, arguments, own_names
from ..hints.names import did_you_mean, listed
from ..source import Span
from ..syntax import ast
from .config import check_value, report_same
from .declarations import FAILED
from .state import Checker

# Decorators of other languages, with the help for each.
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
Checked = list[tuple[str, dict[str, object]]]  # of each decorator its name, and its arguments by their names
# Arguments that are returned as expressions: what they hold depends on what is decorated (`tests.check_test`).
UNREAD = frozenset((("test", "cases"), ("approve", "channel")))


def check_decorators(c: Checker, decorators: list[ast.Decorator], place: str) -> Checked:
    """Return the decorators that may stand on `place`, each with its arguments by name: the values of constants, expressions for
    those of UNREAD, none for `@validate`, and without arguments that were reported. The other decorators are reported (E4001,
    E4009), as is one that lacks a required argument, which stays. `place` is a word of the table, as `fn` or `schema field`."""
    seen: dict[str, ast.Decorator] = {}
    checked: Checked = []
    for node in decorators:
        name = node.name.text
        if name not in DECORATORS:
            legal = listed("decorators", [f"@{known}" for known, row in DECORATORS.items() if place in row.places])
            legal = legal or f"drop it: {_article(place)} {place} takes none"
            help = ELSEWHERE.get(name) or did_you_mean(name, DECORATORS) or legal
            c.report("E4001", node.name.span, f"unknown decorator `@{name}`", help=help)
        elif place not in DECORATORS[name].places:
            places = ", ".join(DECORATORS[name].places)
            c.report("E4009", node.span, f"`@{name}` cannot stand on {_article(place)} {place}", help=f"it belongs on: {places}")
        elif name in seen:
            c.report("E4009", node.span, f"`@{name}` stands twice", first=seen[name].span, help="keep one of them")
        elif name == "validate":
            checked.append((name, {}))  # its function is checked with the schema (`schemas.check_validators`)
        else:
            checked.append((name, _read_arguments(c, node, arguments(name, place))))
        seen.setdefault(name, node)
    return checked


def _article(word: str) -> str:
    return "an" if word[0] in "aeiou" else "a"


def check_parts(c: Checker, parts: Sequence[ast.Field | ast.Parameter] | None, place: str) -> list[Checked]:
    """Return the checked decorators of each field or parameter, in their order, as `check_decorators` does; an empty list for
    None."""
    return [check_decorators(c, part.decorators, place) for part in parts or ()]


def _read_arguments(c: Checker, node: ast.Decorator, rules: dict[str, Rule]) -> dict[str, object]:
    name = node.name.text
    values: dict[str, object] = {}
    places: dict[str, tuple[str, Span]] = {}
    order = own_names(rules)
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
            continue
        own = rules[key].name or key
        if own in values and places[own][0] != key:
            report_same(c, f"`@{name}`", key, argument.span, *places[own], "E4009")
        elif own in values:
            c.report("E4009", argument.span, f"`@{name}` gets `{key}` twice", first=places[own][1], help="keep one of them")
        else:
            places[own] = (key, argument.span)
            if (name, key) in UNREAD:
                values[own] = argument.value
                continue
            values[own] = check_value(c, key, argument.value, rules[key], constant=True, code="E4009")
    required = DECORATORS[name].required
    if required is not None and required not in values and not node.arguments:
        c.report("E4009", node.span, f"`@{name}` needs `{required}`", help=f"write `@{name}({required}: …)`")
    return {key: value for key, value in values.items() if value is not FAILED}
