"""The messages of HTTP as `std::http` has them: the target of a URL, a request, a reply (G-8.3, G-8.10).

Hands on `Target`, `HttpRequest`, `HttpReply`, `HttpFailure`, REDIRECTS and MOST_REDIRECTS to the performer of `std::http`
(`effects/world.py`), which follows redirects; `HttpRequest`, `HttpReply`, `HttpFailure` and MOST_BYTES to `network.py`, which
carries them, and, but for MOST_BYTES, to the conformance driver, which answers in its place; `Target`, `HttpFailure`,
`header_fault`, PORTS and both limits to MCP servers; and `is_token` and `ascii_text` to connections, for their headers. Nothing
here connects. What a program could smuggle into a URL or a header is refused when these are made. A header that a redirect must
not take along is a name in BOUND_TO_HOST, or has a word of a secret in its name (`secrets.py`).
"""

from __future__ import annotations

import re
from urllib.parse import quote, urljoin, urlsplit

from ...vm.builtins.capabilities import Malformed, canonical_host
from ...vm.values.text import CUT
from .secrets import is_secret_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


MOST_BYTES = 8 * 1024 * 1024  # of a body (G-6.1)
MOST_REDIRECTS = 5  # of one request
PORTS = {"http": 80, "https": 443}
REDIRECTS = (301, 302, 303, 307, 308)
# Headers that a redirect to another origin does not take along.
BOUND_TO_HOST = ("authorization", "cookie")
BODY_HEADERS = ("content-type", "content-length", "content-encoding", "transfer-encoding")
MOST_URL = 64 * 1024  # characters
MOST_HEADERS = 64 * 1024  # characters of all names and values
# Headers that frame a message or are for the next hop: only the transport sets them, else messages could be smuggled (G-8.10).
FRAMING = frozenset((
    "host", "content-length", "transfer-encoding", "connection", "upgrade", "te", "trailer", "keep-alive", "expect",
    "http2-settings",
))  # fmt: skip
AUTHORITY = re.compile(r"(?:\[[0-9A-Fa-f:.]+(?:%25[\w.~-]+)?\]|[^\[\]:@]+)(?::[0-9]*)?")
SAFE = "%/:=&?~#+!$,;'@()*[]-._"  # characters of a URL that stay as they are


class HttpFailure(Exception):
    """A request that cannot be made or has failed: the `variant` of HttpError (InvalidUrl, Network or Timeout), None where it has
    none, and the message."""

    def __init__(self, variant: str | None, message: str) -> None:
        super().__init__(message)
        self.variant = variant
        self.message = message


class Target:
    """A URL taken apart: `scheme` is http or https; `host` is in lower case, in ASCII and without brackets; `port` is that of the
    scheme where the URL has none; `path` has the query with it; `url` is the whole without the fragment, written in one
    canonical form, so that nobody reads it in another way than we did."""

    __slots__ = ("scheme", "host", "port", "path", "url")

    def __init__(self, url: str) -> None:
        """Raise HttpFailure (InvalidUrl) for a text that is no URL of http or https, or that programs could read differently."""
        if len(url) > MOST_URL:
            raise invalid(url, f"it is longer than {MOST_URL} characters")
        if not url.isprintable() or " " in url:
            raise invalid(url, "it holds a blank or control character")
        try:
            parts = urlsplit(url)
            port = parts.port
        except ValueError:
            raise invalid(url, "host or port is malformed") from None
        self.scheme = parts.scheme.lower()
        if self.scheme not in PORTS:
            raise invalid(url, "it does not begin with http:// or https://")
        if "@" in parts.netloc or "\\" in url:  # programs disagree on which host such a URL names
            raise invalid(url, "it holds user information or a backslash")
        if port == 0 or not AUTHORITY.fullmatch(parts.netloc):
            raise invalid(url, "host or port is malformed")
        try:
            self.host = canonical_host(parts.hostname or "")
        except Malformed as refused:
            raise invalid(url, f"its host: {refused}") from None
        self.port = port or PORTS[self.scheme]
        self.path = quote(parts.path or "/", safe=SAFE) + (f"?{quote(parts.query, safe=SAFE)}" if parts.query else "")
        self.url = f"{self.scheme}://{self.authority}{self.path}"

    @property
    def authority(self) -> str:
        """Return host and port as the header `Host` has them: without the port that the scheme implies."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == PORTS[self.scheme] else f"{host}:{self.port}"


def invalid(url: str, why: str) -> HttpFailure:
    """Return the failure for a URL that is none; its message shows at most 200 characters of it."""
    return HttpFailure("InvalidUrl", f"invalid URL {_shown(url, 200)}: {why}")


def _shown(text: str, most: int) -> str:
    """Return a text in the form of `ascii_text`; a longer one than `most` code points is cut to these, the last of which is
    CUT."""
    return ascii_text(text) if len(text) <= most else ascii_text(text[: most - 1]) + CUT


def ascii_text(text: str) -> str:
    """Return a text for a message: as it is if all of it can be printed, else with escapes for what is not ASCII, for controls
    and for backslashes."""
    return text.encode("unicode_escape").decode() if not text.isprintable() else text


class HttpRequest:
    """A request: `method`, `target` and `headers`; `body` is None where it has none. The constructor raises HttpFailure, without
    a variant, for headers that cannot be sent or have more than MOST_HEADERS characters together."""

    __slots__ = ("method", "target", "headers", "body")

    def __init__(self, method: str, target: Target, headers: Mapping[str, str], body: str | None) -> None:
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        for name, value in headers.items():
            fault = header_fault(name, value)
            if fault is not None:
                raise HttpFailure(None, fault)
        if sum(len(name) + len(value) for name, value in headers.items()) > MOST_HEADERS:
            raise HttpFailure(None, f"the headers have more than {MOST_HEADERS} characters")

    def redirected(self, status: int, location: str) -> HttpRequest:
        """Return the request that follows a redirect of this one (RFC 9110, 15.4); `status` is one of REDIRECTS, `location` the
        header of that name. 303 of all but a HEAD, and 301 or 302 of a POST, become GET without a body. Another origin gets no
        credentials. Raises HttpFailure (InvalidUrl) when `location` leads to no URL."""
        try:
            target = Target(urljoin(self.target.url, location))
        except ValueError:
            raise invalid(location, "host or port is malformed") from None
        method, body, headers = self.method, self.body, dict(self.headers)
        if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
            method, body = "GET", None
            headers = {name: value for name, value in headers.items() if name.lower() not in BODY_HEADERS}
        is_same_origin = (target.scheme, target.host, target.port) == (self.target.scheme, self.target.host, self.target.port)
        if not is_same_origin:
            headers = {name: value for name, value in headers.items() if not is_bound_to_host(name)}
        return HttpRequest(method, target, headers, body)


def header_fault(name: str, value: str) -> str | None:
    """Return why a header cannot be set, in a text that names it; None when it can."""
    if not is_token(name) or not (value.isascii() and (value.isprintable() or not value)):
        return f"header {_shown(name, 80)!r} holds characters that a header cannot carry"
    if name.lower() in FRAMING or name.lower().startswith("proxy-"):
        return f"header {name!r} is set by the transport and by nobody else: leave it out"
    return None


def is_bound_to_host(name: str) -> bool:
    """Return whether a header holds credentials, by its usual name or a word in it, and so is for the first host alone."""
    return name.lower() in BOUND_TO_HOST or is_secret_name(name.replace("-", "_"))


def is_token(name: str) -> bool:
    """Return whether a name is a token (RFC 9110, 5.6.2), as names of headers and methods must be."""
    return bool(name) and name.isascii() and all(c.isalnum() or c in "!#$%&'*+-.^_`|~" for c in name)


class HttpReply:
    """A reply with its `status`, a number. `headers` are by name in lower case; the values of several headers of one name are
    joined by commas (RFC 9110, 5.3). `body` has the bytes without their content encoding."""

    __slots__ = ("status", "headers", "body")

    def __init__(self, status: int, headers: Iterable[tuple[str, str]], body: bytes) -> None:
        self.status = status
        self.headers: dict[str, str] = {}
        for name, value in headers:
            name = name.lower()
            self.headers[name] = f"{self.headers[name]}, {value}" if name in self.headers else value
        self.body = body
