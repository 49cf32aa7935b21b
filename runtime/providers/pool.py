"""The providers of a session, one for each connection, made when first asked for (O-1.24, O-1.29).

Hands on `ProviderPool` to the session and its protocol (`running.py`), and `wire_class` to `concerto models`. Nothing is sent
here, and no key is looked up. Which class a connection has is said by its row in `vm/providers.py`.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

from ..errors import ConfigFailure
from .offline import OfflineProvider, Script

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence
    from typing import Any

    from ..access.secrets import Redactor
    from ..connections import ConnectionSettings
    from .base import Provider
    from .sdk import SdkProvider


class ProviderPool:
    """The providers of the `connections` of a session, by name. With `offline` every connection has the offline provider.
    `script` is the one order of replies for all of them; without it an offline connection takes its own `replies`. `sleep` waits
    so many seconds, for scripted delays. `env`, the variables of the run, `redactor`, which learns their secrets, and
    `http_client` are handed to the providers that use an SDK. `around` returns what stands before a provider that was made.

    The constructor raises ConfigFailure when `script`, or the replies of a connection, are no script, whether they are used or
    not."""

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
        around: Callable[[Any], Any] | None = None,
    ) -> None:
        self._connections = connections
        self._env = env
        self._redactor = redactor
        self._sleep = sleep
        self._offline = offline
        self._script = None if script is None else Script(script)
        self._http_client = http_client
        self._around = around
        self._providers: dict[str, Provider] = {}
        for name, settings in connections.items():
            if settings.replies:
                _check_replies(name, settings.replies)

    def __getitem__(self, name: str) -> Provider:
        """Return the provider of a connection, the same one each time. KeyError for an unknown name. A library or a key that is
        missing is found when the provider sends its first request."""
        provider = self._providers.get(name)
        if provider is None:
            provider = self._make(self._connections[name])
            provider = self._providers[name] = provider if self._around is None else self._around(provider)
        return provider

    @property
    def unscripted(self) -> int:
        """The number of requests that the host's script had no reply for."""
        return 0 if self._script is None else self._script.missed

    async def aclose(self) -> None:
        """Close the providers that were made, and with them their connections, also where closing one of them raises, which
        passes through."""
        async with AsyncExitStack() as closing:
            for provider in self._providers.values():
                closing.push_async_callback(provider.aclose)

    def is_offline(self, settings: ConnectionSettings) -> bool:
        """Return whether the offline provider answers for a connection: a row without wires is it, in every run."""
        return self._offline or not settings.row.wires

    def _make(self, settings: ConnectionSettings) -> Provider:
        if self.is_offline(settings):
            script = Script(settings.replies or ()) if self._script is None else self._script
            return OfflineProvider(settings, script, self._sleep, self._redactor.clean)
        return wire_class(settings)(settings, self._env, self._redactor, self._http_client)


def wire_class(settings: ConnectionSettings) -> type[SdkProvider]:
    """Return the class that sends the requests of a connection. Its module must be imported here and not before (O-1.24): a run
    that sends nothing starts without it."""
    from importlib import import_module

    module, _, name = settings.row.wires[settings.api].rpartition(".")
    cls: type[SdkProvider] = getattr(import_module(f".{module}", __package__), name)
    return cls


def _check_replies(connection: str, replies: Sequence[Any]) -> None:
    try:
        Script(replies)
    except ConfigFailure as failure:
        raise ConfigFailure(failure.code, f"connection {connection}: {failure.message}") from None
