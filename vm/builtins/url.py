"""`std::url` (L-7.13): addresses taken apart and put together (RFC 3986). It opens no connection.

A Url has scheme, user, host, port, path, query and fragment. Hands on its rows only. A text that is wrong is an Err of
ParseError, whose `column` counts characters from 1; parts of which no URL can be made are P013, an argument of another type P007,
a result beyond the limits P103. With long texts and many parts what ends the run may come out.
"""

from __future__ import annotations

from ..panics import Panic
from ..values import long_text
from ..values.containers import Array, Map
from ..values.errors import make_error
from ..values.limits import check_items, check_string_size, utf8_size
from ..values.metering import BLOCK, FEW, LARGE, look, paced, spend, works_on
from ..values.objects import Err, NoneOption, Ok, Some, Url
from ..values.text import brief, cut_to, display
from .registry import integer, key_text, std, table, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


LONGEST = 65_536  # characters of an address, as in `std::http` (L-7.2)
# What may stand in the name of a host, of ASCII (RFC 3986, section 3.2.2).
OF_NAMES = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=")
HEX = frozenset("0123456789abcdefABCDEF")


def _fault(reason: str, at: int, source: str) -> Err:
    message = f"{reason} at character {at + 1}"
    return Err(make_error("ParseError", None, {"message": message, "input": cut_to(source, 200), "column": at + 1}))


@std("url", "parse(s: String) -> Result<Url, ParseError>", clause="L-7.13.1")
def parse(s: Any) -> Ok | Err:
    """The parts of an absolute URL; what is percent-encoded in them stays so."""
    from urllib.parse import urlsplit

    wrong = _wrong(text(s), absolute=True)
    if wrong is not None:
        return _fault(*wrong, s)
    parts = urlsplit(s)
    user = parts.netloc.rpartition("@")[0] if "@" in parts.netloc else None
    query = parts.query if "?" in s.partition("#")[0] else None
    fragment = parts.fragment if "#" in s else None
    return Ok(Url.of((parts.scheme, user, parts.hostname or "", parts.port, parts.path, query, fragment)))


def _wrong(s: str, absolute: bool) -> tuple[str, int] | None:
    """Return why a text is no URL, and the position of that; None for a URL. Without `absolute` it may be one that stands at
    another: without scheme, or without scheme and host."""
    from urllib.parse import urlsplit

    if len(s) > LONGEST:
        return f"a URL of {len(s)} characters; {LONGEST} are allowed", LONGEST
    at = next((at for at, sign in enumerate(s) if sign <= " " or sign in "\x7f\\<>\"{}|^`"), None)
    if at is not None:
        return f"`{s[at]}` stands in no URL", at
    at = _bad_escape(s)
    if at is not None:
        return "a `%` without two hexadecimal digits", at
    scheme, authority, *_ = _parts(s)
    if not _is_scheme(scheme or "") if absolute or scheme is not None else s.startswith(":"):
        return "no scheme such as `https:`", 0
    at = 0 if scheme is None else len(scheme) + 1
    try:
        port = urlsplit(s).port
    except ValueError as error:
        return str(error).lower(), at
    host = (authority or "").rpartition("@")[2]
    name = host if port is None else host.rpartition(":")[0]
    within = name.removesuffix(":")[1:-1] if name.startswith("[") else name
    return ("no host", at) if "[" in within or "]" in within else None


def _parts(s: str) -> Any:
    """Return scheme, authority, path, query and fragment of a URL, None for those that it lacks but the path, which it never
    lacks (RFC 3986, appendix B)."""
    import re

    form = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.S)
    found = form.fullmatch(s)
    assert found is not None  # every text has this form
    return found.groups()


def _is_scheme(s: str) -> bool:
    return s.isascii() and s[:1].isalpha() and all(c.isalnum() or c in "+-." for c in s)


def _bad_escape(s: str) -> int | None:
    """Return the position of the first `%` without its two digits, None when there is none."""
    import re

    bad = re.compile("%(?![0-9a-fA-F]{2})")
    for start in range(0, len(s), BLOCK):
        look()
        escape = bad.search(s, start, start + BLOCK + 2)
        if escape is not None and escape.start() < start + BLOCK:
            return escape.start()
    return None


@std(
    "url", 'build(scheme: String, host: String, path: String = "", query: Map<String, Any> = {}, port: Int? = nil, '
    'fragment: String = "") -> String', clause="L-7.13.2", linear=True,
)  # fmt: skip
def build(scheme: Any, host: Any, path: Any, query: Any, port: Any, fragment: Any) -> str:
    """A URL of its parts, each encoded as its place asks; the path is given plain, with `/` between its segments."""
    if not 0 < len(text(scheme)) <= LONGEST or not _is_scheme(scheme):
        raise Panic("P013", f"no scheme of a URL: {brief(scheme)}")
    if not 0 < len(text(host)) <= LONGEST or not _is_host(host):
        raise Panic("P013", f"no host of a URL: {brief(host)}")
    if port is not None and not 0 < integer(port) < 65_536:
        raise Panic("P013", f"no port: {port}")
    name = f"[{host}]" if ":" in host and not host.startswith("[") else host
    whole = f"{scheme.lower()}://{name}" + ("" if port is None else f":{port}")
    segments = encoded(text(path), "/")
    whole += segments if not segments or segments.startswith("/") else f"/{segments}"
    pairs = _pairs(query)
    whole += f"?{pairs}" if pairs else ""
    whole += f"#{encoded(text(fragment), '')}" if fragment else ""
    check_string_size(utf8_size(whole))
    return whole


def _is_host(s: str) -> bool:
    """Return whether a text may stand as the host of a URL as it is: a name, whose letters may be of any script, or an address,
    one of IPv6 with or without brackets."""
    from unicodedata import normalize

    if ":" not in s and "[" not in s:
        # Some signs of other scripts stand for `/` and the like.
        return all(c in OF_NAMES or (c > "\x7f" and c.isprintable()) for c in s + ("" if s.isascii() else normalize("NFKC", s)))
    inner = s[1:-1] if s.startswith("[") and s.endswith("]") else s
    version, _, rest = inner[1:].partition(".")
    if inner is not s and inner[:1] in ("v", "V"):  # an address of a later version
        return bool(version and rest) and HEX.issuperset(version) and all(c in OF_NAMES or c == ":" for c in rest)
    return "%" not in inner and _is_ipv6(inner)


def _is_ipv6(s: str) -> bool:
    from ipaddress import IPv6Address

    try:
        IPv6Address(s)
    except ValueError:
        return False
    return True


@std("url", "join(base: String, reference: String) -> String", clause="L-7.13.3")
def join_function(base: Any, reference: Any) -> str:
    """Where a reference that stands at the base leads."""
    for part, absolute in ((base, True), (reference, False)):
        wrong = _wrong(text(part), absolute)
        if wrong is not None:
            raise Panic("P013", f"no URL: {brief(part, 60)}: {wrong[0]} at character {wrong[1] + 1}")
    of_base = _parts(base)
    scheme, authority, path, query, fragment = _parts(reference)
    if scheme is None:
        scheme = of_base[0]
        if authority is None:
            authority = of_base[1]
            if not path and query is None:
                query = of_base[3]
            path = _merged(of_base, path)
    path = _without_dots(path)
    if authority is None and path.startswith("//"):  # it is no host
        path = f"/.{path}"
    marked = [mark + part for mark, part in (("//", authority), ("", path), ("?", query), ("#", fragment)) if part is not None]
    whole = f"{scheme.lower()}:{''.join(marked)}"
    check_string_size(utf8_size(whole))
    return whole


def _merged(base: Any, path: str) -> str:
    """Return the path of a reference without scheme and host, as it stands at the parts of a base (RFC 3986, section 5.2.3)."""
    if path.startswith("/"):
        return path
    if not path:
        return str(base[2])
    return f"/{path}" if base[1] is not None and not base[2] else base[2][: base[2].rfind("/") + 1] + path


def _without_dots(path: str) -> str:
    """Return the path without its segments `.` and `..` (RFC 3986, section 5.2.4)."""
    import re

    path = re.sub(r"\A(?:\.\.?/)*(?:\.\.?\Z)?", "", path, count=1)
    kept: list[str] = []
    segment = ""
    for segment in re.findall("/[^/]*|[^/]+", path):
        if segment == "/..":
            del kept[-1:]
        elif segment != "/.":
            kept.append(segment)
    return "".join(kept) + ("/" if segment in ("/.", "/..") else "")


@std("url", "encode(s: String) -> String", clause="L-7.13.4", linear=True)
def encode(s: Any) -> str:
    """Percent-encoded, for one segment of a path or one part of a query; letters, digits and `-._~` stay."""
    return encoded(text(s), "")


def encoded(s: str, also: str) -> str:
    """Return the percent-encoded text, in which the characters of `also` stay as they are too. Raises P103 when it is too long,
    and with a long text what ends the run."""
    from urllib.parse import quote

    if len(s) >= LARGE:
        spend(len(s))
    escaped = quote(s, safe=also) if len(s) <= BLOCK else long_text.mapped(s, lambda block: quote(block, safe=also))
    check_string_size(len(escaped))
    return escaped


@std("url", "decode(s: String) -> Result<String, ParseError>", clause="L-7.13.4", linear=True)
def decode(s: Any) -> Ok | Err:
    """What is percent-encoded, as text; a `+` stays one."""
    if len(text(s)) >= LARGE:
        spend(len(s))
    return _decoded(s, s)


def _decoded(part: str, whole: str, start: int = 0) -> Ok | Err:
    at = _bad_escape(part)
    if at is not None:
        return _fault("a `%` without two hexadecimal digits", start + at, whole)
    try:
        return Ok(b"".join(map(_bytes_of, _blocks(part))).decode())
    except UnicodeDecodeError:
        return _fault("percent-encoded bytes that are not UTF-8", start, whole)


def _bytes_of(part: str) -> bytes:
    from urllib.parse import unquote_to_bytes

    look()
    return unquote_to_bytes(part)


def _blocks(s: str) -> Iterator[str]:
    """Yield the text in blocks, none of which ends inside of a `%` and its two digits."""
    start = 0
    while start < len(s):
        end = start + BLOCK
        escape = s.rfind("%", end - 2, end)
        end = end if escape < 0 else escape
        yield s[start:end]
        start = end


@std("url", "query(parts: Map<String, Any>) -> String", clause="L-7.13.5", linear=True)
def query_function(parts: Any) -> str:
    """`a=1&b=x%20y`: the Display texts of the values; an Array gives a pair for each element, an absent value none."""
    return _pairs(parts)


def _pairs(parts: Any) -> str:
    pairs = []
    size = 0
    works_on(len(table(parts)))
    for name, value in paced(table(parts).items(), FEW):
        for one in paced(value.items, FEW) if type(value) is Array else [value]:
            one = one.value if type(one) is Some else one
            if one is None or type(one) is NoneOption:
                continue
            pairs.append(f"{encoded(key_text(name), '')}={encoded(display(one), '')}")
            size += len(pairs[-1]) + 1
            check_string_size(size)
    return "&".join(pairs)


@std("url", "parse_query(s: String) -> Result<Array<(String, String)>, ParseError>", clause="L-7.13.6", linear=True)
def parse_query(s: Any) -> Ok | Err:
    """The pairs of a query in order, decoded, a `+` as a blank; a part without `=` has the value `""`."""
    if len(text(s)) >= LARGE:
        spend(len(s))
    pairs = []
    query = s.removeprefix("?")
    at = len(s) - len(query)
    for parts in long_text.pieces(query, "&"):
        for part in paced(parts):
            name, _, value = part.partition("=")
            pair = [_decoded(name.replace("+", " "), s, at), _decoded(value.replace("+", " "), s, at + len(name) + 1)]
            for one in pair:
                if type(one) is Err:
                    return one
            if part:
                pairs.append(tuple([one.value for one in pair]))
                check_items(len(pairs))
            at += len(part) + 1
    return Ok(Array(pairs))


@std("url", "query_map(s: String) -> Result<Map<String, String>, ParseError>", clause="L-7.13.6", linear=True)
def query_map(s: Any) -> Ok | Err:
    """The same as a Map; of equal names the last counts."""
    pairs = parse_query(s)
    return pairs if type(pairs) is Err else Ok(Map(dict(pairs.value.items)))
