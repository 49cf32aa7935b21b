"""Who calls: tokens, the host's own function, and what of a request is bound to parameters (S-1.3, S-1.7).

Hands on `Caller` and `Gate` to the application and the protocols beside it, `required_name` for other names in their requests,
ANYONE and LONGEST_NAME to `mcp_server.py`, LOCAL, the names of this machine, to the command. Tokens are compared in constant
time, by their digests; none is logged or handed on. What a caller may use is for `admission.py` and `day_budgets.py`.
"""

from __future__ import annotations

import hashlib
import hmac
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from .problems import Problem
from .settings import Serving

ANYONE = "anyone"  # the caller where nobody asks who calls
LONGEST_NAME = 200  # characters of a session's name, of an Idempotency-Key, and of a bound value
LOCAL = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who sends a request: `name`, and further `claims` that the host's function gave."""

    name: str
    claims: Mapping[str, Any] = field(default_factory=dict)


class Gate:
    """Lets requests in, by the settings of a server."""

    def __init__(self, settings: Serving) -> None:
        self.settings = settings
        self._hosts = None if settings.hosts is None else {name.lower() for name in settings.hosts}
        # Digests are of one length, so that comparing them tells nothing of the length of a token.
        self._digests = [(name, _digest(token)) for name, token in settings.tokens.items()]

    async def caller(self, request: Request) -> Caller:
        """Return who sends a request. Raise Problem: 403 for another Host, and for a page of another site; 401 for nobody. Raise
        TypeError for a wrong answer of the host's function `authorize`, and what that raises."""
        self._require_host(request)
        if self.settings.is_open:
            return Caller(ANYONE)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self._digests:
            given = _digest(token.strip())
            names = [name for name, digest in self._digests if hmac.compare_digest(digest, given)]
            if names:
                return Caller(names[0])
        found = None if self.settings.authorize is None else await self._asked(request)
        if found is None:
            raise Problem(401, "token", "a known token is needed", headers={"WWW-Authenticate": 'Bearer realm="concerto"'})
        return found

    async def _asked(self, request: Request) -> Caller | None:
        assert self.settings.authorize is not None
        answer = self.settings.authorize(request)
        if inspect.isawaitable(answer):
            answer = await answer
        if isinstance(answer, str) and answer:
            return Caller(answer)
        if isinstance(answer, Mapping) and isinstance(answer.get("name"), str) and answer["name"]:
            return Caller(answer["name"], answer)
        if answer is None or answer is False:
            return None
        raise TypeError("authorize returned neither a name, nor a mapping with `name`, nor None")

    def _require_host(self, request: Request) -> None:
        """Refuse what a web page of another site sends through a browser: by its Host (a name that leads to this machine), and by
        its Origin."""
        host = request.headers.get("host", "")
        if self._hosts is not None and _name(host).lower() not in self._hosts:
            raise Problem(403, "host", "this server does not serve that Host")
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise Problem(403, "origin", "requests from pages of other sites are refused")

    def session_of(self, request: Request) -> str | None:
        """Return the name of the session of a request, None for none. Raise Problem (400) for one that is no name, and
        what the host's function `session_of` raises."""
        if self.settings.session_of is not None:
            name = self.settings.session_of(request)
        else:
            name = request.headers.get("concerto-session")
        return None if name is None else required_name(name, "Concerto-Session")

    def bound(self, request: Request, caller: Caller, session: str | None) -> dict[str, str]:
        """Return the values of bound parameters by name. Raise Problem (400) where the request lacks one, or one is no name."""
        values = {}
        for parameter, source in self.settings.keys.items():
            kind, _, name = source.partition(":")
            value: Any = {"caller": caller.name, "session": session}.get(kind)
            if kind == "header":
                value = request.headers.get(name)
            elif kind == "claim":
                value = caller.claims.get(name)
            if value is None:
                raise Problem(400, "key", f"the request lacks {source}, which is the parameter `{parameter}`")
            values[parameter] = required_name(str(value), source)
        return values

    def may_answer(self, caller: Caller, owner: str) -> bool:
        """Return whether a caller sees and answers the questions of calls of `owner`."""
        return caller.name == owner or caller.name in self.settings.approvers


def required_name(value: str, what: str) -> str:
    """Return a name from a request. Raise Problem (400) for one that is empty, too long, or not printable."""
    if not 0 < len(value) <= LONGEST_NAME or not value.isprintable():
        raise Problem(400, "name", f"{what} is 1 to {LONGEST_NAME} printable characters")
    return value


def _name(host: str) -> str:
    """Return a Host without its port."""
    return host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() and not host.endswith("]") else host


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()
