"""Connections: their declarations (O-1.1 to O-1.28, O-1.231), and those that models and embedders name by their field `provider`
(O-1.17, O-1.35).

Hands on `check_connection` to `declaration_checks`, `check_headers` to `mcp`, `named_connection` to `models` and `embedders`,
`connection_of`, `check_extra`, `check_kept_long` and `api_of` to `models`, and `connection_help` to `program`, which checks the
manifest. Which fields there are, of which type and range, is a row of `vm/declaration_fields.py`; here stand the fields that need
more than that, and what fields of a declaration demand of each other: the manifest's own connections are checked by
`program._check_connection`, those of a run by `runtime/connections.py`, and what all three demand is a function of
`vm/providers.py`, as `two_accounts`. `c` is the state of the check: mistakes are reported to it by a code (E…; W…
for a warning), and not raised. No connection is opened and no variable read: keys stay outside of the image.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ...vm import declaration_fields as rows
from ...vm.providers import NAME, PREDECLARED, PROVIDERS, TWO_ACCOUNTS, WRITTEN, two_accounts
from ..fields import CONNECTION, CONNECTION_FIELDS, CONNECTION_OBJECTS, EITHER_OBJECTS, TEXT, is_carried
from ..hints.names import by_nearness, did_you_mean
from ..resolver.state import ErroneousSymbol
from ..source import Span
from ..symbols import BuiltinSymbol, ConnectionSymbol
from ..syntax import ast
from .config import check_either, check_fields, check_object, check_value, is_misspelt, under_own_names
from .declarations import FAILED
from .decorators import Checked, check_decorators
from .state import Checker

# Declarations.


def check_connection(c: Checker, symbol: ConnectionSymbol) -> None:
    """Check a connection and set `symbol.fields`, values by name, over which those of the manifest win (O-1.2); E4002 for a
    missing `provider` and for what that one needs, E4006 for what it cannot carry, E4001 for fields that contradict each other,
    E4005 for an `api_key` that is no `env("NAME")`, and what `check_decorators` reports of the decorators and
    `config.check_fields` of each field. In place of `api_key` stands `api_key_env`, the name of its variable."""
    node = symbol.declaration
    owner = f"connection `{symbol.name}`"
    decorators = check_decorators(c, node.decorators, "connect")
    under_own_names(c, owner, node.entries, rows.CONNECTION)
    own: dict[str, Callable[[ast.Expr], object]] = {
        "api_key": lambda value: _read_key(c, symbol, value),
        "headers": lambda value: check_headers(c, value),
        **{name: partial(check_object, c, f"`{name}`", rules=rules) for name, rules in CONNECTION_OBJECTS.items()},
    }
    for name, rules in EITHER_OBJECTS.items():
        own[name] = partial(check_either, c, name, rule=CONNECTION[name], rules=rules, constant=True)
    check_fields(c, owner, node.entries, symbol.fields, CONNECTION, CONNECTION_FIELDS, own)
    _read_breaker(c, symbol, owner, decorators)
    from_manifest = c.manifest.get(symbol.name, {})
    symbol.fields.update(from_manifest)
    known = known_fields(c, symbol.name, symbol.fields)
    keys = {*(entry.key.text for entry in node.entries), *from_manifest}
    # A misspelt field is reported as such; that the right one is missing would be a second report of one mistake.
    keys |= {field for field in ("provider", "base_url") if is_misspelt(field, node.entries, CONNECTION_FIELDS)}
    if "provider" not in known and "provider" not in keys:
        # The help names a provider that suits the other fields.
        likely = next(row.name for row in PROVIDERS.values() if row.needs_base_url or "base_url" not in keys)
        others = ", ".join(f'"{name}"' for name in PROVIDERS if name != likely)
        help = f'add `provider: "{likely}"`; others are {others}'
        c.report("E4002", node.name.span, f"{owner} lacks `provider`", help=help)
    row = PROVIDERS.get(str(known.get("provider")))
    if row is not None and row.needs_base_url and "base_url" not in keys:
        c.report(
            "E4002", node.name.span, f"{owner} lacks `base_url`, which a {row.name} provider needs",
            help='add `base_url: "https://…"`',
        )
    two = None if row is None else two_accounts(row, known)
    if two is not None:
        c.report("E4001", node.name.span, f"{owner} {TWO_ACCOUNTS}", help="keep one of them")
    for entry in node.entries:
        _check_carried(c, owner, entry, known.get("provider"))
        if entry.key.text == "extra":
            check_extra(c, owner, entry.value, api_of(known))
    written = next((entry.value for entry in node.entries if entry.key.text == "cache_prompt"), None)
    if written is not None and symbol.fields.get("cache_prompt") == rows.KEPT_LONG:
        check_kept_long(c, written, known)


def _read_breaker(c: Checker, symbol: ConnectionSymbol, owner: str, decorators: Checked) -> None:
    """Set the field `breaker` to the arguments of `@breaker`, which is another way to write it (O-1.231)."""
    arguments = dict(decorators).get("breaker")
    if arguments is None:
        return
    written = next((entry.key for entry in symbol.declaration.entries if entry.key.text == "breaker"), None)
    if written is not None:
        first = next(node.span for node in symbol.declaration.decorators if node.name.text == "breaker")
        message = f"{owner} has `@breaker` and the field `breaker`"
        c.report("E4001", written.span, message, first=first, help="keep one of them")
    symbol.fields["breaker"] = arguments


def _check_carried(c: Checker, owner: str, entry: ast.ConfigEntry, provider: object) -> None:
    name = entry.key.text
    if not is_carried(name, provider):
        c.report("E4006", entry.key.span, f"`{name}` of {owner} is not carried by provider `{provider}`", help="remove it")


def _read_key(c: Checker, symbol: ConnectionSymbol, value: ast.Expr) -> object:
    """Set `api_key_env`, the name of the variable of `api_key`: an image never holds a key. Return FAILED, as the field itself is
    not kept."""
    variable = environment_name(c, value, "E4005", "`api_key`")
    if variable is not None:
        symbol.fields["api_key_env"] = variable
    return FAILED


def environment_name(c: Checker, value: ast.Expr, code: str, what: str) -> str | None:
    """Return NAME of exactly `env("NAME")`; None after a report with `code` (O-1.5)."""
    if _is_env(value):
        assert isinstance(value, ast.Call)
        name = value.arguments[0].value
        if isinstance(name, ast.StringLiteral):
            return name.value
    c.report(code, value.span, f'{what} is written `env("NAME")`', help='write `env("NAME")`; the key stays outside')
    return None


def _is_env(value: ast.Expr) -> bool:
    if not (isinstance(value, ast.Call) and isinstance(value.callee, ast.PathExpr)):
        return False
    binding = value.callee.binding
    one = len(value.arguments) == 1 and value.arguments[0].name is None
    return one and isinstance(binding, BuiltinSymbol) and binding.name == "env"


def check_headers(c: Checker, value: ast.Expr) -> dict[str, object]:
    """Return the headers by name: a String, or `{"env": "N"}` for `env("N")` (O-1.13); E4004 for another form or value, E4001 for
    a header that stands twice. After a report, when nothing is compiled, headers may be missing, a value FAILED, and N None."""
    headers: dict[str, object] = {}
    if not isinstance(value, ast.MapExpr):
        c.report("E4004", value.span, '`headers` is a map of Strings or `env("N")`', help='write `{ "X-Name": "value" }`')
        return headers
    places: dict[str, Span] = {}
    for entry in value.entries:
        if isinstance(entry.key, ast.StringLiteral):
            first = places.setdefault(entry.key.value, entry.key.span)
        if not isinstance(entry.key, ast.StringLiteral):
            c.report("E4004", entry.key.span, "the name of a header is a String", help='write it in quotes: `"X-Name"`')
        elif entry.key.value in headers:
            message = f'header "{entry.key.value}" is given twice'
            c.report("E4001", entry.key.span, message, first=first, help="keep one of them")
        elif _is_env(entry.value):
            variable = environment_name(c, entry.value, "E4004", "a header")
            headers[entry.key.value] = {"env": variable}
        else:
            headers[entry.key.value] = check_value(c, entry.key.value, entry.value, TEXT, constant=True)
    return headers


# Fields that a model may have too.


def check_kept_long(c: Checker, value: ast.Expr, connection: dict[str, object]) -> None:
    """Report, at `value`, which the caller knows to be a lifetime of a prompt cache (KEPT_LONG), that requests carry none: a name
    says nothing of time (E4006, O-1.220). `connection` are the fields of the connection; with `unsupported` as "drop" nothing is
    reported."""
    row = PROVIDERS.get(str(connection.get("provider")))
    if row is not None and row.prompt_cache == NAME and connection.get("unsupported") != "drop":
        message = f"`cache_prompt: \"1h\"` is not carried by provider `{row.name}`"
        c.report("E4006", value.span, message, help="write `true`: how long it keeps a prompt this provider decides")


def check_extra(c: Checker, owner: str, value: ast.Expr | None, api: str) -> None:
    """Report each part of `extra`, the value of that field, that Concerto writes itself in requests to an API (E4006, O-1.211);
    None, and what is no map literal, has no parts."""
    for entry in value.entries if isinstance(value, ast.MapExpr) else ():
        name = entry.key.value if isinstance(entry.key, ast.StringLiteral) else None
        if name in WRITTEN.get(api, ()):
            help = "remove it, and use the field of the model for it"
            c.report("E4006", entry.key.span, f"`{name}` in `extra` of {owner} is written by Concerto itself", help=help)


def api_of(connection: dict[str, object]) -> str:
    """Return the API that a connection of these fields speaks (O-1.14), "" for an unknown provider and the offline one."""
    # Which API a connection speaks depends on its provider and address, unless it says so.
    row, base_url = PROVIDERS.get(str(connection.get("provider"))), connection.get("base_url")
    if row is None:
        return ""
    return row.api(str(connection.get("api", "auto")), None if base_url is None else str(base_url))


# What a field `provider` names.


def named_connection(
    c: Checker, node: ast.Config, owner: str, known_fields: Sequence[str]
) -> tuple[ConnectionSymbol | str, dict[str, object]] | None:
    """Return the connection that the field `provider` of a declaration names, or the name of one without a declaration, and its
    fields; None after a report (O-1.17, O-1.35): E4002 where the field is missing, E4003 for an unknown name, E4004 for what is
    no name. `known_fields`: those of such a declaration; `owner`: what messages call it."""
    entry = next((e for e in node.entries if e.key.text == "provider"), None)
    if entry is None:
        if not is_misspelt("provider", node.entries, known_fields):
            c.report("E4002", node.name.span, f"{owner} lacks `provider`", help="the name of a connection")
        return None
    value = entry.value
    if not isinstance(value, ast.PathExpr) or value.member is not None:
        help = connection_help(c, value.value if isinstance(value, ast.StringLiteral) else "")
        c.report("E4004", value.span, "`provider` is the name of a connection", help=help)
        return None
    connection = connection_of(c, value)
    # A name that is bound to something else is unknown as a connection.
    if connection is None and not isinstance(value.binding, ErroneousSymbol):
        name = value.segments[-1].text
        c.report("E4003", value.span, f"unknown connection `{name}`", help=connection_help(c, name))
    return connection


def connection_of(c: Checker, value: ast.Expr | None) -> tuple[ConnectionSymbol | str, dict[str, object]] | None:
    """Return the connection that a field `provider` with this value names, or the name of one without a declaration, and its
    fields, of which those of the manifest win; None where it names none."""
    if not isinstance(value, ast.PathExpr) or value.member is not None:
        return None
    declared, name = value.binding, value.segments[0].text
    if isinstance(declared, ConnectionSymbol):
        return declared, known_fields(c, declared.name, declared.fields)
    is_known = len(value.segments) == 1 and (name in PREDECLARED or name in c.manifest)
    return (name, known_fields(c, name, {})) if is_known else None


def known_fields(c: Checker, name: str, declared: Mapping[str, object]) -> dict[str, object]:
    """Return the fields of a connection: those that it has without a declaration, the `declared` ones, and those of the manifest,
    of which the last count."""
    return {**PREDECLARED.get(name, {}), **declared, **c.manifest.get(name, {})}


MOST_LISTED = 6  # connections in a help


def connection_help(c: Checker, name: str) -> str:
    """Return the help for an unknown connection `name`: at most MOST_LISTED of those there are, the nearest names first."""
    if not c.connection_names:
        c.connection_names = sorted({*PREDECLARED, *c.connections, *c.manifest})
    known = by_nearness(name, c.connection_names)
    near = did_you_mean(name, known)
    more = f" and {len(known) - MOST_LISTED} more" if len(known) > MOST_LISTED else ""
    listed = "connections are: " + ", ".join(f"`{other}`" for other in known[:MOST_LISTED]) + more
    return f"{near + ' ' if near else ''}{listed}; declare it with `connect`"
