"""Predeclared functions that are typed or run in a way of their own (L-6.1): emit, print, panic, assert."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from concerto.compiler import ast

from ..scopes import Builtin, Missing, Scope, type_of
from ..types import ANY, NEVER, NIL, STRING, NotClaimed, convert
from ..values import Panic, display, equal, json_text


class Predeclared:
    expr: Callable[..., Any]
    site: Callable[..., Any]
    arguments: Callable[..., Any]
    asserts: int
    emits: list[tuple[str, str]]

    def call_emit(self, found: Builtin, callee: ast.PathExpr, rest: Any, scope: Scope) -> Any:
        wanted = type_of(callee.type_arguments[0], scope) if callee.type_arguments else None
        types = {"channel": STRING, "payload": wanted or ANY}
        rows = []
        for i, a in enumerate(rest):
            name = a.name.text if a.name else ("channel", "payload")[i]
            if name not in types:
                raise NotClaimed("emit with a time limit")
            rows.append((name, self.expr(a.value, scope, types[name])))

        def run(env: Any) -> None:
            given: dict[str, Any] = {"payload": None}
            for name, (type_, code) in rows:
                value, conversion = code(env), convert(type_, types[name])
                try:
                    given[name] = value if conversion is None else conversion(value)
                except Panic as panic:
                    raise Panic("P415" if name == "payload" and wanted else panic.code, panic.message) from None
            self.emits.append((given["channel"], json_text(given["payload"])))

        return NIL, run

    def call_print(self, found: Builtin, callee: ast.PathExpr, rest: Any, scope: Scope) -> Any:
        codes = [self.expr(a.value, scope)[1] for a in rest]
        return NIL, lambda env: [display(code(env)) for code in codes] and None

    call_println = call_print

    def call_panic(self, found: Builtin, callee: ast.PathExpr, rest: Any, scope: Scope) -> Any:
        message = self.site(rest[0].value, scope, STRING)

        def run(env: Any) -> None:
            raise Panic("P001", message(env))

        return NEVER, run

    def call_assert(self, found: Builtin, callee: ast.PathExpr, rest: Any, scope: Scope) -> Any:
        codes, _ = self.arguments(found, {}, rest, scope, None)

        def run(env: Any) -> None:
            *values, message = codes(env)
            self.asserts += 1
            shown = " and ".join(display(v, True) for v in values)
            if len(values) == 1 and type(values[0]) is not bool:
                raise NotClaimed("assert of another kind")
            holds = values[0] if len(values) == 1 else equal(*values) is (found.name == "assert_eq")
            if not holds:
                raise Panic("P011", f"assertion failed: {shown if message is Missing else message}")

        return NIL, run

    call_assert_eq = call_assert_ne = call_assert
