"""The providers of a session, one per connection, made when first asked for (O-1.24, O-1.29).

Hands on `Provider`s. Must not know: requests. Wires are imported when a connection needs them, so that an offline
run loads none.
"""

from __future__ import annotations

from ..errors import ConfigFailure
from .offline import OfflineProvider
from .scripted import Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from ..connections import ConnectionSettings
    from ..secrets import Redactor
    from .base import Provider


class ProviderPool:
    """`offline` routes every connection to the offline provider; `script` is the one order of replies of all of them,
    without it an offline connection takes its own `replies`. `http_client` is handed to SDK clients."""

    def __init__(
        self,
        connections: Mapping[str, ConnectionSettings],
        *,
        env: Mapping[str, str],
        redactor: Redactor,
        sleep: Callable[[float], Awaitable[None]],
        offline: bool = False,
        script: Sequence[Any] | None = None,
        http_client: Any = None,
    ) -> None:
        self._connections = connections
        self._env = env
        self._redactor = redactor
        self._sleep = sleep
        self._offline = offline
        self._script = None if script is None else Script(script)
        self._http_client = http_client
        self._made: dict[str, Provider] = {}
        for name, settings in connections.items():
            if settings.replies:
                _check_replies(name, settings.replies)

    def __getitem__(self, name: str) -> Provider:
        made = self._made.get(name)
        if made is None:
            made = self._made[name] = self._make(self._connections[name])
        return made

    @property
    def unscripted(self) -> int:
        """Requests that the script of the host had no reply for."""
        return 0 if self._script is None else self._script.missed

    async def aclose(self) -> None:
        for provider in self._made.values():
            await provider.aclose()

    def _make(self, settings: ConnectionSettings) -> Provider:
        if self._offline or settings.row.sdk is None:
            script = Script(settings.replies or ()) if self._script is None else self._script
            return OfflineProvider(settings, script, self._sleep)
        return self._make_sdk(settings)

    def _make_sdk(self, settings: ConnectionSettings) -> Provider:
        if settings.row.sdk == "anthropic":
            from .anthropic import Anthropic

            return Anthropic(settings, self._env, self._redactor, self._http_client)
        if settings.api == "responses":
            from .openai_responses import OpenAIResponses

            return OpenAIResponses(settings, self._env, self._redactor, self._http_client)
        from .openai_chat import OpenAIChat

        return OpenAIChat(settings, self._env, self._redactor, self._http_client)


def _check_replies(connection: str, replies: Sequence[Any]) -> None:
    """Before anything runs, whether the connection is used or not. Raises ConfigFailure."""
    try:
        Script(replies)
    except ConfigFailure as failure:
        raise ConfigFailure(failure.code, f"connection {connection}: {failure.message}") from None
