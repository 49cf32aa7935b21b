"""Logging in to an MCP server over HTTP: OAuth by the SDK's provider, where the host gives a browser (O-4.56).

Hands on `login_to` to `opening.py`, and the protocol `Browser` to hosts. The SDK finds the server that gives tokens, registers
with it, and renews them; here stand what a person sees of it, where tokens are kept, and what goes wrong on the way. Tokens are
secrets (G-10.3). Whether a connection may log in is decided in `opening.py`.
"""

from __future__ import annotations

import json
from urllib.parse import parse_qs, urlsplit

from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from ..access.secrets import clean_text
from ..host import exception_text
from .served import ServerFailure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, MutableMapping
    from typing import Any, Protocol

    import httpx2

    from ..running import EffectContext
    from .carrier import Carrier
    from .served import McpSettings

    class Browser(Protocol):
        """What a host gives for logins. `redirect_url` is where a login ends, an absolute URL; `client_id` and `client_secret`
        are those of a client that is registered already, None for one that is not; `tokens` keeps what was got, as a text for
        the URL of a server."""

        @property
        def redirect_url(self) -> str: ...
        @property
        def client_id(self) -> str | None: ...
        @property
        def client_secret(self) -> str | None: ...
        @property
        def tokens(self) -> MutableMapping[str, str]: ...
        async def visit(self, url: str) -> str:
            """Show a page to a person, and return the URL at which the login has ended. It may raise anything."""


def login_to(run: EffectContext, settings: McpSettings, carrier: Carrier) -> httpx2.Auth:
    """Return what logs in when the server asks for it, for the HTTP client of the SDK. The host must have given a browser. A
    failure of the browser, a login that was refused, or tokens that cannot be read or kept become the ServerFailure in
    `carrier.failure`, by `Carrier.fail`, which raises `httpx2.ConnectError` where the SDK is at work. Raises ServerFailure for a
    `redirect_url` that is none."""
    browser: Browser = run.host.browser
    ended: list[str] = []

    async def show(url: str) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            carrier.fail(_failure(settings, "the login leads to no page of http or https"))
        try:
            with carrier.waiting_on_a_person():
                ended.append(await browser.visit(url))
        except Exception as error:
            carrier.fail(_failure(settings, f"the browser of the host failed: {run.redactor.clean(exception_text(error))}"))

    async def come_back() -> AuthorizationCodeResult:
        url = ended.pop()
        try:
            query = parse_qs(urlsplit(url).query) if isinstance(url, str) else {}
        except ValueError:  # no URL, or with more fields than anybody sends
            query = {}
        said = {name: values[0] for name, values in query.items()}
        if "code" not in said:
            reason = clean_text(said.get("error_description") or said.get("error") or "its last URL has no `code`")
            carrier.fail(_failure(settings, f"the login was refused: {reason[:200]}"))
        return AuthorizationCodeResult(code=said["code"], state=said.get("state"), iss=said.get("iss"))

    try:
        metadata = OAuthClientMetadata.model_validate({"client_name": "concerto", "redirect_uris": [browser.redirect_url]})
    except ValueError:  # the SDK is stricter than the host
        raise _failure(settings, f"`redirect_url` of the browser is no URL: {clean_text(browser.redirect_url)}") from None
    return OAuthClientProvider(settings.url, metadata, Tokens(run, settings, browser, carrier), show, come_back)


def _failure(settings: McpSettings, text: str) -> ServerFailure:
    return ServerFailure(f"mcp {settings.name}: {text}")


class Tokens:
    """Where the SDK keeps what a login has given: one text of JSON for the URL of the server, with `token` and `client`. The
    methods are those of the SDK's `TokenStorage`: a getter returns None where nothing is kept. Values of tokens become known to
    the redactor. A mapping of the host that fails, or holds something else, goes to `Carrier.fail`."""

    def __init__(self, run: EffectContext, settings: McpSettings, browser: Browser, carrier: Carrier) -> None:
        self.run = run
        self.settings = settings
        self.browser = browser
        self.carrier = carrier

    async def get_tokens(self) -> OAuthToken | None:
        """Return the tokens of the last login, None where nothing is kept."""
        token = self._read("token", OAuthToken)
        return None if token is None else self._hidden(token)

    async def set_tokens(self, tokens: OAuthToken) -> None:
        """Keep the tokens of a login."""
        self._write("token", self._hidden(tokens).model_dump(mode="json", exclude_none=True))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        """Return the client that a login need not register: that of the host, else the one that is kept; None for neither."""
        if self.browser.client_id is None:
            known: OAuthClientInformationFull | None = self._read("client", OAuthClientInformationFull)
            return None if known is None else self._without_secret(known)
        client = {"client_id": self.browser.client_id, "redirect_uris": [self.browser.redirect_url]}
        secret = self.browser.client_secret
        if secret is not None:
            self.run.redactor.add(secret, "client_secret")
            client.update(client_secret=secret, token_endpoint_auth_method="client_secret_post")
        return OAuthClientInformationFull.model_validate(client)

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Keep the client that a server has registered."""
        self._write("client", self._without_secret(client_info).model_dump(mode="json", exclude_none=True))

    def _without_secret(self, client: OAuthClientInformationFull) -> OAuthClientInformationFull:
        """Return the client, whose secret is shown nowhere from now on."""
        if client.client_secret:
            self.run.redactor.add(client.client_secret, "client_secret")
        return client

    def _hidden(self, token: OAuthToken) -> OAuthToken:
        for value in (token.access_token, token.refresh_token):
            if value:
                self.run.redactor.add(value, f"token of mcp {self.settings.name}")
        return token

    def _rows(self) -> dict[str, Any]:
        text = self._of_host(lambda: self.browser.tokens.get(self.settings.url))
        try:
            rows = json.loads(text) if text is not None else {}
            if isinstance(rows, dict):
                return rows
        except (TypeError, ValueError, RecursionError):
            pass
        return self.carrier.fail(_failure(self.settings, f"`tokens` of the browser holds no login under {self.settings.url}"))

    def _read(self, key: str, kind: Any) -> Any:
        row = self._rows().get(key)
        try:
            return None if row is None else kind.model_validate(row)
        except ValueError:
            self.carrier.fail(_failure(self.settings, f"`tokens` of the browser holds no {key} under {self.settings.url}"))

    def _write(self, key: str, row: dict[str, Any]) -> None:
        text = json.dumps({**self._rows(), key: row})
        self._of_host(lambda: self.browser.tokens.__setitem__(self.settings.url, text))

    def _of_host(self, use: Callable[[], Any]) -> Any:
        """Return what `use` returns of the host's mapping, which may be anything."""
        try:
            return use()
        except Exception as error:
            reason = self.run.redactor.clean(exception_text(error))
            self.carrier.fail(_failure(self.settings, f"`tokens` of the browser failed: {reason}"))
