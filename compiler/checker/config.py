"""Checking the entries of config bodies and decorators against tables of fields (O-0.1, O-0.4).

Hands on to the checks of declarations (connections, models, agents, MCP servers, tools, hosted tools, embedders, indexes), of
decorators and of mocks, each to some of them, `under_own_names` and `check_fields` (a whole body), `check_value` (one value),
`check_object`, `check_either`, `quiet_fold` (to memories too) with UNKNOWN, and the reports `report_duplicates`, `report_same`
and `report_unknown_key` with `is_misspelt`. Which fields there are is a table of Rules (`compiler/fields.py`); here stands how a
value is tested against its Rule. A config body is `{ name: value, … }` of a declaration. `c` is the state of the check: mistakes
are reported to it by a code (E…; W… for a warning), and not raised. In place of a value stands FAILED (of `declarations`) for one
that was reported, UNKNOWN for one that only the run knows. What fields demand of each other is for the callers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ...vm.declaration_fields import Field, named
from ..diagnostics import Diagnostics
from ..fields import Rule, own_names
from ..hints.names import FIELDS, did_you_mean, listed, nearest
from ..source import Span
from ..syntax import ast
from .declarations import FAILED, at_module_level, folded
from .durations import number_literal
from .relations import ERRONEOUS, is_text
from .state import FREE, Checker, Expected

UNKNOWN = object()  # a value known only at run time


def report_duplicates(c: Checker, owner: str, names: Iterable[ast.Ident]) -> None:
    """Report names that stand twice (E4001), each behind the first one of it; `owner` is what the message calls the
    declaration."""
    seen: dict[str, ast.Ident] = {}
    for name in names:
        if name.text in seen:
            c.report(
                "E4001", name.span, f"`{name.text}` is given twice in {owner}", first=seen[name.text].span,
                help=f"keep one of them: `{name.text}: …`",
            )
        seen.setdefault(name.text, name)


def report_same(c: Checker, owner: str, name: str, at: Span, other: str, first: Span, code: str = "E4001") -> None:
    """Report by `code`, at `at`, the name `name` in a body, since `other`, which stands at `first`, is another name of the same
    field."""
    c.report(code, at, f"`{name}` and `{other}` of {owner} say the same", first=first, help=f"keep one of them: `{other}`")


def under_own_names(c: Checker, owner: str, entries: list[ast.ConfigEntry], fields: Mapping[str, Field]) -> None:
    """Give the entries of a body, in place, the own names of their fields in place of their other names; of two names for one
    field the second is reported (E4001) and its entry removed. An entry that repeats the same name stays."""
    seen: dict[str, ast.Ident] = {}
    result = []
    for entry in entries:
        own, _ = named(fields, entry.key.text) or (entry.key.text, False)
        first = seen.setdefault(own, entry.key)
        if first.text != entry.key.text:
            report_same(c, owner, entry.key.text, entry.key.span, first.text, first.span)
            continue
        result.append(entry)
    for entry in result:
        own, _ = named(fields, entry.key.text) or (entry.key.text, False)
        if own != entry.key.text:
            entry.key = ast.Ident(span=entry.key.span, text=own)
    entries[:] = result


def report_unknown_key(c: Checker, owner: str, name: ast.Ident, known: Iterable[str]) -> None:
    """Report a field that `owner` does not have (E4001), with the name that was most likely meant among `known`."""
    known = tuple(known)
    everyday = next((f"use `{field}`" for field in FIELDS.get(name.text, ()) if field in known), None)
    help = everyday or did_you_mean(name.text, known) or listed("fields", known, like=name.text)
    c.report("E4001", name.span, f"{owner} has no field `{name.text}`", help=help)


def is_misspelt(field: str, entries: Iterable[ast.ConfigEntry], known: Sequence[str]) -> bool:
    """Return whether `field` is the known name nearest to an unknown key of the entries. That key is reported, so that a missing
    `field` needs no report of its own."""
    return any(entry.key.text not in known and nearest(entry.key.text, known) == field for entry in entries)


def check_fields(
    c: Checker,
    owner: str,
    entries: Sequence[ast.ConfigEntry],
    into: dict[str, object],
    rules: Mapping[str, Rule],
    known: Iterable[str],
    own: Mapping[str, Callable[[ast.Expr], object]],
) -> None:
    """Check a body of constants and add its values to `into` by name. A field whose value was reported is left out; unknown and
    repeated names are reported (E4001), and of repeated ones the first value without a report counts. `own` reads fields that
    have no rule, or more than one; what it returns is added unless it is FAILED. `known` are the names to suggest for an unknown
    field; `owner` is what messages call the declaration."""
    report_duplicates(c, owner, [entry.key for entry in entries])
    for entry in entries:
        name = entry.key.text
        # It stands twice, which `report_duplicates` has reported.
        if name in into:
            continue
        if name in own:
            value = own[name](entry.value)
        elif name in rules:
            value = check_value(c, name, entry.value, rules[name], constant=True)
        else:
            report_unknown_key(c, owner, entry.key, known)
            continue
        if value is not FAILED:
            into[name] = value


def check_value(c: Checker, name: str, value: ast.Expr, rule: Rule, *, constant: bool, code: str = "E4004") -> object:
    """Type one field and test it as far as it is constant. Return its value, as `rule.reads` gives it (of a duration in a text
    the number), FAILED after a report, UNKNOWN for a value that only the run knows. `constant`: it must be constant, and plain
    data. `code` is that of the report of a value that does not fit."""
    errors = c.error_count
    wanted = Expected(rule.type, code, f"`{name}`")
    type_ = at_module_level(c, value, FREE if rule.timed else wanted)
    by_text = rule.timed and is_text(type_)
    if rule.timed and not by_text and type_ is not ERRONEOUS:
        type_ = c.coerce(value, type_, wanted)
    if type_ is ERRONEOUS or c.error_count > errors:
        return FAILED
    # What a text says of time is read here: a run gets numbers.
    folded_value = folded(c, value, code) if constant else quiet_fold(c, value)
    if by_text and folded_value is UNKNOWN:
        help = "a time that is computed is a number of seconds"
        c.report(code, value.span, f"`{name}` takes no text that is computed", help=help)
        return FAILED
    if folded_value is FAILED or folded_value is UNKNOWN:
        return folded_value
    folded_value = rule.reads(folded_value)
    if constant and not is_data(folded_value):
        help = "data are texts, numbers, Bools, nil, arrays, and maps with String keys"
        c.report(code, value.span, f"`{name}` holds a value that is not data", help=help)
        return FAILED
    if not rule.legal(folded_value):
        c.report(code, value.span, f"`{name}` is {rule.words}", help=f"write `{name}: {rule.example(folded_value)}`")
        return FAILED
    return folded_value


def check_either(
    c: Checker, name: str, value: ast.Expr, rule: Rule, rules: Mapping[str, Rule], *, constant: bool
) -> object:
    """Check a field that holds one value, by `rule`, or an object with fixed keys, by `rules`; return as `check_value`, or the
    values of the object by key."""
    inner = ast.ungrouped(value)
    if not isinstance(inner, ast.MapExpr):
        return check_value(c, name, value, rule, constant=constant)
    return check_object(c, f"`{name}`", inner, rules)


def is_data(known: object) -> bool:
    """Return whether a value is what an image keeps in a field of a connection or model: no Option, enum or struct."""
    if isinstance(known, (list, tuple)):
        return all(is_data(item) for item in known)
    if isinstance(known, dict):
        return all(isinstance(key, str) and is_data(item) for key, item in known.items())
    return known is None or isinstance(known, (bool, int, float, str))


def quiet_fold(c: Checker, value: ast.Expr) -> object:
    """Return the value of a constant expression; UNKNOWN, without a report, for one that is not constant or would panic."""
    # Folding reports what is not constant: here that is no mistake.
    diagnostics, errors, c.diagnostics = c.diagnostics, c.error_count, Diagnostics()
    known = folded(c, value, "E4004")
    c.diagnostics, c.error_count = diagnostics, errors
    return UNKNOWN if known is FAILED else known


def check_object(c: Checker, owner: str, value: ast.Expr, rules: Mapping[str, Rule], code: str = "E4004") -> object:
    """Return the values of a map literal of constants with fixed keys by key, without those that were reported (E4001, and `code`
    for a value that does not fit); FAILED, after a report of `code`, if it is no map literal. In the literal keys get their own
    names, and times become numbers."""
    value = ast.ungrouped(value)
    if not isinstance(value, ast.MapExpr):
        at_module_level(c, value, Expected())
        c.report(code, value.span, f"{owner} is an object `{{ … }}` of constants", help="write `{ key: value }`")
        return FAILED
    values: dict[str, object] = {}
    places: dict[str, tuple[str, Span]] = {}
    for entry in value.entries:
        key = entry.key
        if not isinstance(key, ast.StringLiteral):
            c.report("E4001", key.span, f"a key of {owner} is a word", help="write the key without quotes")
            continue
        name = ast.Ident(span=key.span, text=key.value)
        own = rules[key.value].name or key.value if key.value in rules else key.value
        if own in values and places[own][0] != key.value:
            report_same(c, owner, key.value, key.span, *places[own])
        elif own in values:
            message = f"`{key.value}` is given twice in {owner}"
            c.report("E4001", key.span, message, first=places[own][1], help="keep one of them")
        elif key.value not in rules:
            report_unknown_key(c, owner, name, own_names(rules))
        else:
            places[own] = (key.value, key.span)
            known = values[own] = check_value(c, key.value, entry.value, rules[key.value], constant=True, code=code)
            # What else reads the object, finds it as if it were written so.
            key.value = own
            if rules[name.text].timed and known is not FAILED:
                entry.value = number_literal(entry.value, known)
    return {name: known for name, known in values.items() if known is not FAILED}
