"""How a person logs in to MCP servers (O-4.56): the value of the option `browser`.

Hands on `Browser` to users, and to `options.py`, which hands it to the host.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, MutableMapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Browser:
    """Logins to MCP servers over HTTP that want one (OAuth 2.1). `open` gets the URL of a page, shows it to a person, and returns
    the URL at which the login has ended, or an awaitable of it: `redirect_url` with what the server has added to it. `tokens`
    keeps what was got, as a text by the URL of the server; without it a login lasts as long as the Browser. `client_id` and
    `client_secret` are those of a client that is registered with the servers; without them one is registered. Raises ValueError
    for a `redirect_url` that is no URL of http or https, or another type of any of these."""

    open: Callable[[str], str | Awaitable[str]]
    redirect_url: str
    tokens: MutableMapping[str, str] = field(default_factory=dict)
    client_id: str | None = None
    client_secret: str | None = None

    def __post_init__(self) -> None:
        if not callable(self.open):
            raise ValueError(f"open is {self.open!r}; it is a function of a URL")
        if not isinstance(self.redirect_url, str) or not self.redirect_url.startswith(("http://", "https://")):
            raise ValueError(f"redirect_url is {self.redirect_url!r}; it is a URL of http or https")
        if not isinstance(self.tokens, MutableMapping):
            raise ValueError(f"tokens is of the type {type(self.tokens).__name__}; it is a mapping that can be changed")
        for name in ("client_id", "client_secret"):
            if not isinstance(getattr(self, name), str | None):
                raise ValueError(f"{name} is of the type {type(getattr(self, name)).__name__}; it is a str, or None")

    async def visit(self, url: str) -> str:
        """Return what `open` gives for the URL."""
        answer = self.open(url)
        return await answer if inspect.isawaitable(answer) else answer
