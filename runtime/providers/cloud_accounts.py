"""Credentials of accounts at AWS and Google, which stand in place of a key (O-1.288).

Hands on `AwsAccount` to `bedrock.py` and `GoogleAccount` to `vertex.py`. Both take what the variables of the run give. Only where
the run has the variables of its process they let the libraries of AWS and Google look for more, as the tools of both do: in the
files of the user, and at the services of the machine. What they find is asked for again before it expires, and is known to the
redactor. Their errors hold text from outside: of it a failure shows no more than the kind (G-10.3). What is done with the
credentials is for the two providers.
"""

from __future__ import annotations

import asyncio
import json
from warnings import catch_warnings, simplefilter

from ..connections import OFFLINE, ProcessEnvironment
from ..errors import install_advice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from ..access.secrets import Redactor
    from ..connections import ConnectionSettings
    from ..errors import NotSent, Origin
    from .patience import Patience

SCOPE = "https://www.googleapis.com/auth/cloud-platform"
KEY_FILE = "GOOGLE_APPLICATION_CREDENTIALS"


class _Account:
    """What both share: one search at a time for all requests, in a thread, while the time limits of each request count."""

    library: str  # which the extra of pyproject.toml brings that is called like the provider
    what: str  # is looked for

    def __init__(self, settings: ConnectionSettings, env: Mapping[str, str], redactor: Redactor) -> None:
        self.settings = settings
        self._env = env
        self._redactor = redactor
        self._search: asyncio.Future[Any] | None = None
        self._found: Any = None

    def _variable(self, name: str) -> str:
        return self._env.get(name, "").strip()

    def _require_library(self, origin: Origin) -> None:
        from importlib import import_module

        try:
            import_module(self.library)
        except ImportError:
            extra = self.settings.row.name
            advice = f"{install_advice(extra)} (the extra `{extra}`)"
            message = f"the package {self.library} is not installed, which {self.what} need: {advice}"
            raise origin.not_sent("ConnectionError", "ProviderUnavailable", message) from None

    async def _ask(self, look: Callable[[], Any], what: str, origin: Origin, patience: Patience) -> Any:
        """Return what `look` finds. Raises a CallFailure for what it raises, TimeoutError when a limit of time runs out."""
        try:
            return await patience.waiting(self._shared(look))
        except _Refused as refused:
            raise origin.not_sent("ConnectionError", "AuthenticationFailed", str(refused)) from None
        except Exception as error:
            if patience.over:
                raise
            kind = type(error).__name__
            if isinstance(error, self._unreachable()):
                raise origin.network(f"nobody answers who gives {what} ({kind})") from None
            message = f"the search for {what} failed ({kind})"
            raise origin.not_sent("ConnectionError", "AuthenticationFailed", message) from None

    async def _shared(self, look: Callable[[], Any]) -> Any:
        """Wait for the search that is under way, or for a new one. It goes on when nobody waits any more: a thread has no end."""
        if self._search is None:
            self._search = asyncio.ensure_future(asyncio.to_thread(look))
            self._search.add_done_callback(self._ended)
        return await asyncio.shield(self._search)

    def _ended(self, search: asyncio.Future[Any]) -> None:
        self._search = None
        if not search.cancelled():
            search.exception()  # seen, also where nobody waits any more

    def _unreachable(self) -> tuple[type[Exception], ...]:
        """Return the exceptions of the library that say that nobody could be reached."""
        raise NotImplementedError

    def _missing(self, ways: str, origin: Origin) -> NotSent:
        unseen = "" if self._may_search else "; the run has variables of its own, so what else this machine has does not count"
        return origin.not_sent("ConnectionError", "MissingKey", f"there are no {self.what}: {ways}, {OFFLINE}{unseen}")

    @property
    def _may_search(self) -> bool:
        return isinstance(self._env, ProcessEnvironment)


class AwsAccount(_Account):
    """The account whose keys sign the requests of a connection (SigV4)."""

    library, what = "boto3", "AWS credentials"

    async def keys(self, origin: Origin, patience: Patience) -> tuple[str, str, str | None]:
        """Return an access key, its secret, and the token of a session or None. `patience` has the time limits of the request,
        and `origin` makes its failures. Raises CallFailure where there are none, where the search for them fails, and without the
        library, and TimeoutError when a limit of time runs out."""
        self._require_library(origin)  # it signs, whatever the keys come from
        names = self.settings.row.account or ()
        given = [self._variable(name) for name in names]
        if self.settings.profile is None and any(given[:2]):
            unset = [name for name, value in zip(names[:2], given, strict=False) if not value]
            if unset:
                raise self._missing(f"set {unset[0]} too", origin)
            return self._hidden((given[0], given[1], given[2] or None), names)
        profile = self.settings.profile or self._variable("AWS_PROFILE") or None
        what = f"{self.what} of profile {profile}" if profile else self.what
        found = await self._ask(lambda: self._look(profile), what, origin, patience) if self._may_search else None
        if found is None:
            ways = f"set {self.settings.row.key_variable}, or {' and '.join(names[:2])}, or name a `profile` that has some"
            raise self._missing(ways, origin)
        labels = [f"{self.settings.name}.{part}" for part in ("access_key", "secret_key", "session_token")]
        return self._hidden((found.access_key, found.secret_key, found.token), labels)

    def _look(self, profile: str | None) -> Any:
        import boto3

        if self._found is None:
            session = boto3.Session(profile_name=profile, region_name=self.settings.region)
            self._found = session.get_credentials()
        return None if self._found is None else self._found.get_frozen_credentials()

    def _unreachable(self) -> tuple[type[Exception], ...]:
        from botocore.exceptions import ConnectionError, HTTPClientError

        return ConnectionError, HTTPClientError

    def _hidden(self, keys: tuple[str, str, str | None], names: Sequence[str]) -> tuple[str, str, str | None]:
        for value, name in zip(keys, names, strict=True):
            if value:
                self._redactor.add(value, name)
        return keys


class GoogleAccount(_Account):
    """The account whose access tokens stand in the requests of a connection."""

    library, what = "google.auth", "Google credentials"

    async def token(self, origin: Origin, patience: Patience) -> str:
        """Return an access token; arguments and errors are those of `AwsAccount.keys`."""
        self._require_library(origin)
        path = self._variable(KEY_FILE)
        look = bool(path) or self._may_search
        if self._found is not None and self._found.valid:
            return str(self._found.token)
        token = await self._ask(lambda: self._look(path), self.what, origin, patience) if look else None
        if token is None:
            raise self._missing(f'name a variable with an access token, `api_key: env("NAME")`, or set {KEY_FILE}', origin)
        self._redactor.add(token, f"{self.settings.name}.access_token")
        return str(token)

    def _look(self, path: str) -> Any:
        from google.auth.exceptions import DefaultCredentialsError
        from google.auth.transport.requests import Request

        if self._found is None:
            try:
                self._found = _of_file(path, self._may_search) if path else _of_this_machine()
            except DefaultCredentialsError:
                if path:
                    raise
                return None
        if not self._found.valid:
            self._found.refresh(Request())
        return self._found.token

    def _unreachable(self) -> tuple[type[Exception], ...]:
        from google.auth.exceptions import TransportError

        return (TransportError,)


class _Refused(Exception):
    """A file of credentials is not used; the message says why, without anything from the file."""


def _of_this_machine() -> Any:
    import google.auth

    return google.auth.default(scopes=[SCOPE])[0]


def _of_file(path: str, may_search: bool) -> Any:
    """Return the credentials in a file. Those of a service account or a user stand in it; all others are looked for where it
    says, which may be at this machine, so only where that `may_search`. Raises _Refused, and what Google's library raises."""
    import google.auth
    from google.oauth2 import credentials, service_account  # have no types

    of_any: Any = google.auth.load_credentials_from_file
    of_service: Any = service_account.Credentials
    of_user: Any = credentials.Credentials
    with open(path, encoding="utf-8") as file:
        facts = json.load(file)
    if facts.get("type") == "service_account":
        return of_service.from_service_account_info(facts, scopes=[SCOPE])
    if facts.get("type") == "authorized_user":
        return of_user.from_authorized_user_info(facts, scopes=[SCOPE])
    if not may_search:
        raise _Refused(
            f"the file of {KEY_FILE} holds neither a service account nor a user: what else a file may name is looked for on this"
            " machine, and the run has variables of its own"
        )
    with catch_warnings():
        simplefilter("ignore", DeprecationWarning)  # it warns of files of strangers
        return of_any(path, scopes=[SCOPE])[0]
