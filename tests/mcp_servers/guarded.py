"""An MCP server for the tests that wants a login, written with the official SDK: over streamable HTTP at the first port. It gives
tokens itself, or trusts the server at the second port, which is one of its own kind."""

from __future__ import annotations

import secrets
import sys
import time
from typing import Any

import uvicorn
from mcp.server.auth.provider import AccessToken, AuthorizationCode, RefreshToken, construct_redirect_uri
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthToken

PREFIX = "granted-"


class Provider:
    """Registers everybody and grants everything, but nothing to a client of the name `nobody`."""

    def __init__(self) -> None:
        self.clients: dict[str, Any] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.refreshing: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> Any:
        return self.clients.get(client_id)

    async def register_client(self, client_info: Any) -> None:
        self.clients[client_info.client_id] = client_info

    async def authorize(self, client: Any, params: Any) -> str:
        code = secrets.token_urlsafe(24)
        self.codes[code] = AuthorizationCode(
            code=code, scopes=params.scopes or [], expires_at=time.time() + 60, client_id=client.client_id,
            code_challenge=params.code_challenge, redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly, resource=params.resource,
        )  # fmt: skip
        return construct_redirect_uri(str(params.redirect_uri), code=code, state=params.state)

    async def load_authorization_code(self, client: Any, authorization_code: str) -> Any:
        return self.codes.get(authorization_code)

    async def exchange_authorization_code(self, client: Any, authorization_code: Any) -> OAuthToken:
        del self.codes[authorization_code.code]
        return self._token(client, authorization_code.scopes)

    def _token(self, client: Any, scopes: list[str]) -> OAuthToken:
        refresh = secrets.token_urlsafe(24)
        self.refreshing[refresh] = RefreshToken(token=refresh, client_id=client.client_id, scopes=scopes)
        return OAuthToken(access_token=f"{PREFIX}{secrets.token_urlsafe(24)}", expires_in=3600, refresh_token=refresh)

    async def load_refresh_token(self, client: Any, refresh_token: str) -> Any:
        return self.refreshing.get(refresh_token)

    async def exchange_refresh_token(self, client: Any, refresh_token: Any, scopes: list[str]) -> OAuthToken:
        return self._token(client, scopes)

    async def load_access_token(self, token: str) -> Any:
        return await Verifier().verify_token(token)

    async def revoke_token(self, token: Any) -> None:
        """Keep everything: no test takes a token back."""


class Verifier:
    async def verify_token(self, token: str) -> AccessToken | None:
        return AccessToken(token=token, client_id="c", scopes=[]) if token.startswith(PREFIX) else None


def main(port: int, issuer: int) -> None:
    auth = AuthSettings.model_validate(
        {
            "issuer_url": f"http://127.0.0.1:{issuer}", "resource_server_url": f"http://127.0.0.1:{port}/mcp",
            "client_registration_options": ClientRegistrationOptions(enabled=True), "validate_token_resource": False,
        }
    )  # fmt: skip
    own: dict[str, Any] = {"auth_server_provider": Provider()} if port == issuer else {"token_verifier": Verifier()}
    server = MCPServer("guarded", auth=auth, **own)

    @server.tool()
    def count(words: list[str]) -> int:
        return len(words)

    uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=port, log_level="error")


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[-1]))
