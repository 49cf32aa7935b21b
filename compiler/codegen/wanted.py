"""Wanted permissions: what the calls of a program will ask for, by value where that is constant (O-10.21).

Hands on `wanted_by` and `reduced`. They grant nothing. Must not know: instructions.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from urllib.parse import urlsplit

from ...vm.builtins import Row
from .. import ast

# The parameter that says what is touched.
SUBJECTS = ("p", "n", "name", "url")


def wanted_by(row: Row, arguments: Sequence[ast.Expr | None]) -> str:
    """`fs:read=notes.txt` for a call with a constant path, `fs:read` for any other."""
    for parameter, argument in zip(row.parameters, arguments, strict=True):
        if parameter.name in SUBJECTS and isinstance(argument, ast.StringLiteral):
            if row.permission == "net":
                return wanted_url(argument.value)
            return f"{row.permission}={argument.value}" if argument.value else row.permission
    return row.permission


def wanted_command(command: str, arguments: object) -> str:
    """`run=COMMAND` for the process of an agent or server; the command is a line to split when it has no arguments
    beside it (O-4.38)."""
    if arguments is None:
        command = (shlex.split(command) or [command])[0]
    return f"run={command}"


def wanted_url(url: str) -> str:
    """`net=HOST`."""
    host = _host(url)
    return f"net={host}" if host else "net"


def _host(url: str) -> str:
    """HOST or HOST:PORT as written; empty where the text is no URL."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port is None else f":{parts.port}"
    except ValueError:
        return ""
    host = parts.hostname or ""
    return f"[{host}]{port}" if ":" in host else f"{host}{port}"


def reduced(wanted: Iterable[str]) -> list[str]:
    """Sorted, each once; a whole capability stands for its parts."""
    found = set(wanted)
    return sorted(text for text in found if "=" not in text or text.partition("=")[0] not in found)
