"""Bytes and the modules of the library that read and write texts (L-6.10, L-7.5.4, L-7.12 to L-7.15).

Hands on to `table`, which files them, ROWS and FMT: signatures with their functions; and RECORDS. What is wrong with
a text raises Failure, with the column from 1; a wrong argument of another kind is a Panic. A module is a part of this
file, in the order of ROWS.
"""

import base64
import datetime as dt
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from urllib.parse import quote, unquote_to_bytes, urljoin
from zoneinfo import ZoneInfo

from ..scopes import DECLARED
from ..values import (NONE, NUMERIC, Any, Arr, Case, Failure, Map, Panic, Rec, Tup, display, limited, mismatch,
    of_kind, ok, some, stop)  # fmt: skip


def at_fault(reason: str, at: int, family: str | None = None) -> Any:
    """Raise Failure for a fault at an index of a text, which counts from 0."""
    return stop(Failure(family, f"{reason} at character {at + 1}", column=at + 1))


# ---------------------------------------------------------------- Bytes


def from_hex(text: str) -> Case:
    """Return the bytes of hexadecimal digits, as a Result."""
    if odd := re.search("[^0-9a-fA-F]", text):
        return at_fault("no digit", odd.start())
    return ok(bytes.fromhex(text)) if len(text) % 2 == 0 else at_fault("an end", len(text))


def from_base64(text: str) -> Case:
    """Return the bytes of base64 with its padding, as a Result; unused bits must be 0."""
    body = re.split("[^A-Za-z0-9+/]", text, maxsplit=1)[0]
    if len(body) % 4 == 1 or text != body + "=" * (-len(body) % 4):
        return at_fault("an end, or no digit", len(body))
    data = base64.b64decode(text)
    return ok(data) if base64.b64encode(data).decode() == text else at_fault("a bit too many", len(body) - 1)


def from_base64url(text: str) -> Case:
    """Return the bytes of base64url, with or without padding, as a Result."""
    body = text.rstrip("=") if len(text) % 4 == 0 and text[-3:] != "===" else text
    if odd := re.search("[^A-Za-z0-9_-]", body):
        return at_fault("no digit", odd.start())
    if len(body) % 4 == 1:
        return at_fault("an end", len(body))
    return from_base64(body.replace("-", "+").replace("_", "/") + "=" * (-len(body) % 4))


def to_base64(b: bytes) -> str:
    """Return bytes as base64."""
    return base64.b64encode(b).decode()


def decode(b: bytes) -> Case:
    """Return the text that bytes in UTF-8 are, as a Result."""
    try:
        return ok(b.decode())
    except UnicodeDecodeError as error:
        return at_fault("no UTF-8", error.start)


def from_array(xs: Arr) -> Case:
    """Return the bytes of an Array of numbers from 0 to 255, as a Result; panic for one that holds something else."""
    odd = next((x for x in xs if type(x) is not int), 0)
    if type(odd) is not int:
        raise mismatch("Array<Int>", odd)
    return next((at_fault("no byte", i) for i, x in enumerate(xs) if not 0 <= x <= 255), None) or ok(bytes(xs))


BYTES = {"from_string(s: String) -> Bytes": str.encode, "from_hex(s: String) -> Result<Bytes, ParseError>": from_hex,
    "from_base64(s: String) -> Result<Bytes, ParseError>": from_base64, "len(self) -> Int": len,
    "from_array(xs: Array<Int>) -> Result<Bytes, ParseError>": from_array, "is_empty(self) -> Bool": lambda b: not b,
    "get(self, i: Int) -> Option<Int>": lambda b, i: some(b[i]) if 0 <= i < len(b) else NONE,
    "contains(self, part: Bytes) -> Bool": bytes.__contains__,
    "starts_with(self, part: Bytes) -> Bool": bytes.startswith,
    "ends_with(self, part: Bytes) -> Bool": bytes.endswith, "to_base64(self) -> String": to_base64,
    "to_hex(self) -> String": bytes.hex, "to_array(self) -> Array<Int>": Arr,
    "decode(self) -> Result<String, ParseError>": decode}  # fmt: skip
ENCODING = {"to_base64(b: Bytes) -> String": to_base64, "to_hex(b: Bytes) -> String": bytes.hex,
    "from_base64(s: String) -> Result<Bytes, ParseError>": from_base64,
    "to_base64url(b: Bytes) -> String": lambda b: base64.urlsafe_b64encode(b).decode().rstrip("="),
    "from_base64url(s: String) -> Result<Bytes, ParseError>": from_base64url,
    "from_hex(s: String) -> Result<Bytes, ParseError>": from_hex}  # fmt: skip

# ---------------------------------------------------------------- std::fmt

FORM = re.compile(r"(?:(.)?([<>^]))?([+-])?(0(?=.*))?(\d+)?([,_])?(?:\.(\d+))?([bdefoxX%?])?", re.S)


def rounded(value: Any, decimals: int) -> str:
    """Return a number with so many decimals, ties away from zero."""
    context = Context(prec=1500)
    return format(Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP, context), "f")


def grouped(text: str, separator: str, size: int = 3) -> str:
    """Return the text of a number with a separator between groups of its whole part, each of `size` digits."""
    whole, point, fraction = text.partition(".")
    return re.sub(rf"(?<=\w)(?=(?:\w{{{size}}})+$)", separator, whole) + point + fraction


def one_format(value: Any, form: str) -> str:
    """Return a value in the form between braces (L-7.5.4); panic for a form that is none or is of another type."""
    match = FORM.fullmatch(form) if form else None
    if match is None:
        raise Panic("P013", f"no format: {form}")
    fill, align, sign, zero, width, separator, precision, kind = match.groups()
    cut, is_number = None if precision is None else int(precision), type(value) in NUMERIC
    if not is_number and (sign == "+" or zero or separator or kind not in (None, "?")):
        raise mismatch("a number", value)
    if not is_number:
        return f"{display(value, kind == '?')[:cut]:{fill or ' '}{align or '<'}{width or 0}}"
    body = body_of(value, kind, cut, separator or "")
    mark, body = "-" if body[0] == "-" else "+" if sign == "+" and value == value else "", body.removeprefix("-")
    if zero and not align and value - value == 0:
        return mark + body.rjust(int(width or 0) - len(mark), "0")
    return f"{mark + body:{fill or ' '}{align or '>'}{width or 0}}"


def body_of(value: Any, kind: str | None, cut: int | None, separator: str) -> str:
    """Return the digits of a number in a kind of form, with its minus sign; `cut` is the precision."""
    if kind and kind in "dxXob":
        if type(value) is not int or cut is not None:
            raise Panic("P013", f"a form of Ints: {kind}")
        return grouped(format(value, kind), separator, 3 if kind == "d" else 4)
    if value - value != 0:
        return display(value)
    if kind == "e":
        cut = 6 if cut is None else cut
        exact = Context(cut + 1, ROUND_HALF_UP).create_decimal(value) if value else value
        mantissa, _, exponent = f"{exact:.{cut}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    if kind == "%":
        return grouped(rounded(Decimal(value).scaleb(2, Context(prec=1500)), cut or 0), separator) + "%"
    plain = cut is None and kind != "f"
    return grouped(display(value, kind == "?") if plain else rounded(value, 6 if cut is None else cut), separator)


def formatted(template: str, args: Arr) -> str:
    """Return a template with the arguments in its braces, in order; braces without an argument stay."""
    rest = iter(args)

    def hole(match: re.Match[str]) -> str:
        for value in rest:
            return display(value) if match[1] is None else one_format(value, match[1])
        return match[0]

    return re.sub(r"\{(?::([^}]*))?\}", hole, template)


def number_text(x: Any, decimals: int | None, thousands: str, point: str) -> str:
    """Return a number with so many decimals and with these signs; panic P013 for fewer than none."""
    if decimals is not None and decimals < 0:
        raise Panic("P013", "decimals")
    if x - x != 0:
        return display(x)
    whole, dot, fraction = (display(x) if decimals is None else rounded(x, decimals)).partition(".")
    return grouped(whole, thousands) + (point if dot else "") + fraction


FMT = {"format(t: String, args: Array<Any>) -> String": formatted, 'number(x: Any, decimals: Int? = nil, thousands: '
    'String = "", point: String = ".") -> String': number_text}  # fmt: skip

# ---------------------------------------------------------------- std::csv


def csv_rows(text: str, separator: str) -> list[tuple[int, list[str]]]:
    """Return the rows of a table, each with the index in the text at which it begins (L-7.12.5)."""
    if len(separator) != 1 or separator in '"\r\n':
        raise Panic("P013", "separator")
    field = re.compile(rf'"((?:[^"]|"")*)("?)|([^{re.escape(separator)}\r\n]*)')
    at, rows = int(text[:1] == "\ufeff"), []
    while at < len(text):
        start, row, more = at, [], True
        while more:
            match = field.match(text, at)
            assert match
            if match[1] is not None and not match[2]:
                no_table("a quote that is not closed", text, at)
            row.append(match[3] if match[1] is None else match[1].replace('""', '"'))
            more = text[match.end() : match.end() + 1] == separator
            at = match.end() + more
        if at < len(text) and text[at] not in "\r\n":
            no_table("text behind a closing quote", text, at)
        at += 2 if text[at : at + 2] == "\r\n" else 1
        if row != [""] or text[start] == '"':
            rows.append((start, row))
    return rows


def no_table(reason: str, text: str, at: int) -> Any:
    """Raise Failure for a fault at an index of a text, with line and column from 1."""
    earlier_lines = text[:at].split("\n")
    raise Failure(None, reason, line=len(earlier_lines), column=len(earlier_lines[-1]) + 1)


def csv_maps(text: str, separator: str) -> Case:
    """Return the rows behind the first as Maps by the names in it, as a Result."""
    rows = csv_rows(text, separator)
    names = rows[0][1] if rows else []
    if len({*names}) < len(names):
        no_table("a name twice", text, 0)
    for start, row in rows:
        if len(row) != len(names):
            no_table("a row of another length", text, start)
    return ok(Arr(Map({(str, n): v for n, v in zip(names, row, strict=True)}) for _, row in rows[1:]))


def csv_text(rows: Any, separator: str) -> str:
    """Return rows as a table; each line ends with LF."""
    csv_rows("", separator)
    return "".join((separator.join(csv_field(v, separator) for v in row) or '""' * len(row)) + "\n" for row in rows)


def csv_field(value: Any, separator: str) -> str:
    """Return a value as a field, quoted where it must be; an absent one is empty."""
    value = value.payload[0] if isinstance(value, Case) and value.variant == "Some" else value
    text = "" if value is None or value == NONE else display(value)
    quoted = text[:1] == "\ufeff" or {separator, '"', "\r", "\n"} & {*text}
    return '"' + text.replace('"', '""') + '"' if quoted else text


def csv_of_maps(rows: Any, separator: str) -> str:
    """Return Maps as a table whose first row has all their names; no rows give an empty text."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    limited("", len(names) * len(rows), "string", 1 << 24)
    for _, name in names:
        of_kind("String", (str,), name)
    return csv_text([[n for _, n in names], *([row.get(n) for n in names] for row in rows)] if names else [], separator)


SEPARATOR = 'separator: String = ","'
CSV = {f"parse(s: String, {SEPARATOR}) -> Result<Array<Map<String, String>>, ParseError>": csv_maps,
    f"parse_rows(s: String, {SEPARATOR}) -> Result<Array<Array<String>>, ParseError>":
        lambda s, mark: ok(Arr(Arr(row) for _, row in csv_rows(s, mark))),
    f"format(rows: Array<Map<String, Any>>, {SEPARATOR}) -> String": csv_of_maps,
    f"format_rows(rows: Array<Array<Any>>, {SEPARATOR}) -> String": csv_text}  # fmt: skip

# ---------------------------------------------------------------- std::url


address = re.compile(r"(?=.*:.*:)[0-9a-fA-F:.]+(%25[^%]+)?").fullmatch  # what looks like one of IPv6


def url_parts(text: str) -> Case:
    """Return the parts of an absolute URL as a Url, as a Result."""
    if odd := re.search(r"[\0-\x20\x7f\\<>\"{}|^`]|%(?![0-9a-fA-F]{2})", text):
        return at_fault("no URL", odd.start())
    if not re.match(r"[A-Za-z][A-Za-z0-9+.-]*:", text):
        return at_fault("no scheme", 0)
    scheme, name, path, query, last = re.fullmatch(r"(.+?):(//[^/?#]*)?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", text).groups()
    user, host, inner, port = re.fullmatch(r"(?:(.*)@)?(\[(.*)]|[^:]*):?(.+)?", (name or "//")[2:]).groups()
    sound = address(inner) if inner else set("[]").isdisjoint(host)
    if not sound or re.search("[^0-9]", port or "") or int(port or 0) > 65535:
        return at_fault("no URL", len(scheme) + 1)
    names = ("scheme", "user", "host", "port", "path", "query", "fragment")
    values = (scheme.lower(), user, (inner or host).lower(), port and int(port), path, query, last)
    return ok(Rec(DECLARED["Url"], dict(zip(names, values, strict=True))))


def url_query(parts: Map) -> str:
    """Return a query of names and values; an Array gives a pair for each item, an absent value none."""
    pairs = []
    for (_, name), value in parts.items():
        of_kind("String", (str,), name)
        for one in value if type(value) is Arr else [value]:
            one = one.payload[0] if isinstance(one, Case) and one.variant == "Some" else one
            if one is not None and one != NONE:
                pairs.append(f"{quote(name, safe='')}={quote(display(one), safe='')}")
    return "&".join(pairs)


def url_text(scheme: str, host: str, path: str, query: Map, port: Any, fragment: str) -> str:
    """Return the URL of its parts; panic P013 for what is no part of one."""
    name = r"[\w.~!$&'()*+,;=\x80-\U0010FFFF-]+|(?=.*:.*:)(\[)?[0-9a-fA-F:.]+(?(1)])"
    sound = re.fullmatch(r"[A-Za-z][A-Za-z0-9+.-]*", scheme) and re.fullmatch(name, host, re.A)
    if not sound or port is not None and not 0 < port < 65536:
        raise Panic("P013", "no part of a URL")
    host = f"[{host}]" if ":" in host and host[0] != "[" else host
    start = f"{scheme.lower()}://{host}" + (f":{port}" if port is not None else "")
    path = quote(path, safe="/")
    rest = (f"?{q}" if (q := url_query(query or Map())) else "") + (f"#{quote(fragment, safe='')}" if fragment else "")
    return start + ("/" if path and path[0] != "/" else "") + path + rest


def url_decoded(text: str, start: int = 0) -> str:
    """Return a text without its escapes; `start` is where it begins in the text of the program."""
    if odd := re.search("%(?![0-9a-fA-F]{2})", text):
        at_fault("no escape", start + odd.start())
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        return str(at_fault("no UTF-8", start))


def url_pairs(text: str) -> list[tuple[str, str]]:
    """Return the names and values of a query, in order."""
    pairs, at = [], len(text) - len(text.removeprefix("?"))
    for part in text.removeprefix("?").split("&"):
        name, _, value = part.replace("+", " ").partition("=")
        pair = url_decoded(name, at), url_decoded(value, at + len(name) + 1)
        pairs += [pair] if part else []
        at += len(part) + 1
    return pairs


def url_joined(base: str, reference: str) -> str:
    """Return a reference as seen from a base URL; panic P013 for what is no URL."""
    whole = reference if re.match("[^/?#]*:", reference) else f"a:{reference}"
    try:
        assert len(base) <= 65_536 >= len(reference) and url_parts(base) and url_parts(whole)
    except (AssertionError, Failure):
        raise Panic("P013", "no URL") from None
    scheme, _, rest = base.partition("#")[0].partition(":")
    return reference if whole == reference else scheme.lower() + urljoin(f"http:{rest}", reference)[4:]


URL = {"parse(s: String) -> Result<Url, ParseError>": url_parts, "query(parts: Map<String, Any>) -> String": url_query,
    'build(scheme: String, host: String, path: String = "", query: Map<String, Any> = {}, port: Int? = nil, '
    'fragment: String = "") -> String': url_text, "join(base: String, reference: String) -> String": url_joined,
    "encode(s: String) -> String": lambda s: quote(s, safe=""),
    "decode(s: String) -> Result<String, ParseError>": lambda s: ok(url_decoded(s)),
    "parse_query(s: String) -> Result<Array<(String, String)>, ParseError>":
        lambda s: ok(Arr(map(Tup, url_pairs(s)))), "query_map(s: String) -> Result<Map<String, String>, ParseError>":
        lambda s: ok(Map({(str, name): value for name, value in url_pairs(s)}))}  # fmt: skip

# ---------------------------------------------------------------- std::date

EPOCH, MS, UTC = dt.datetime(1970, 1, 1, tzinfo=dt.UTC), dt.timedelta(milliseconds=1), dt.UTC
NAMES = ("year", "month", "day", "hour", "minute", "second", "millisecond", "offset_minutes", "zone")
ISO = re.compile(r"(\d{4})(-?)(\d\d)\2(\d\d)(?:[Tt ](\d\d)(:?)(\d\d)(?:\6(\d\d)(?:[.,](\d+))?)?)?"
    r"([Zz]|[+-]\d\d:?(?:\d\d)?)?")  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December")  # fmt: skip


def zone_of(name: str) -> dt.tzinfo:
    """Return the zone of a name or offset. Raise Failure for an unknown one."""
    offset = re.fullmatch(r"([+-])([01]\d|2[0-3]):([0-5]\d)", name)
    if name in ("UTC", "Z") or offset:
        minutes = int(offset[2]) * 60 + int(offset[3]) if offset else 0
        return dt.timezone(dt.timedelta(minutes=-minutes if offset and offset[1] == "-" else minutes))
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise Failure("UnknownZone", f"no zone: {name}", input=name) from None


def bounded(work: Any) -> Any:
    """Return a function that gives the result of `work` as an Ok, and raises Failure for years that have no date."""
    def run(*arguments: Any) -> Case:
        try:
            return ok(work(*arguments))
        except (OverflowError, ValueError):
            raise Failure("OutOfRange", "no year of the calendar") from None

    return run


def shown(moment: dt.datetime, zone: str) -> Rec:
    """Return a moment as a DateTime of a zone."""
    m = moment.astimezone(zone_of(zone))
    offset = int((m.utcoffset() or dt.timedelta()).total_seconds() // 60)
    row = (m.year, m.month, m.day, m.hour, m.minute, m.second, m.microsecond // 1000, offset, zone)
    return Rec(DECLARED["DateTime"], dict(zip(NAMES, row, strict=True)))


def local(parts: Any, zone: str) -> Rec:
    """Return the DateTime of a zone's clock; `parts` are year to millisecond. Raise Failure for one that does not
    exist."""
    *head, millisecond = parts
    if not 1 <= head[0] <= 9999:
        raise Failure("OutOfRange", "no year of the calendar")
    try:
        clock = dt.datetime(*head, millisecond * 1000)
    except ValueError:
        raise Failure("Invalid", "no such date") from None
    return shown(clock.replace(tzinfo=zone_of(zone)).astimezone(UTC), zone)


def moment(d: Rec) -> dt.datetime:
    """Return the moment of a DateTime."""
    *head, ms, offset, _ = (d.fields[name] for name in NAMES)
    return dt.datetime(*head, ms * 1000, tzinfo=dt.timezone(dt.timedelta(minutes=offset)))


READ = {"Y": r"\d{4}", "z": r"[Zz]|[+-]\d\d:?(?:\d\d)?", "p": "am|pm", "f": r"\d+", "B": "|".join(MONTHS),
    "b": "|".join(name[:3] for name in MONTHS), **dict.fromkeys("mdHIMS", r"\d\d?")}  # fmt: skip


def by_pattern(text: str, zone: str, pattern: str) -> Rec:
    """Return the DateTime of a text of the form `pattern`; `zone` is taken where the text names none."""
    form = "".join(f"(?P<{sign}>{READ[sign]})" if sign in READ else re.escape(other or sign)
        for sign, other in re.findall("(?s)%(.)|(.)", pattern))  # fmt: skip
    match = re.fullmatch(form, text, re.IGNORECASE | re.ASCII) if "%Y" in pattern and "%Q" not in pattern else None
    if not match:
        return at_fault("no date", 0, "Invalid")
    part = match.groupdict()
    month = part.get("B") or part.get("b")
    number = int(part.get("m") or 1) if not month else [m[:3].lower() for m in MONTHS].index(month[:3].lower()) + 1
    hour = int(part.get("H") or part.get("I") or 0)
    hour = hour % 12 + 12 * (part["p"].lower() == "pm") if "p" in part else hour
    rest = [int(part.get("M") or 0), int(part.get("S") or 0), int(part.get("f", "0")[:3].ljust(3, "0"))]
    sign = part.get("z", "")
    written = "UTC" if sign in ("Z", "z") else f"{sign[:3]}:{sign[3:].replace(':', '').ljust(2, '0')}"
    return local([int(part["Y"]), number, int(part.get("d") or 1), hour, *rest], written if sign else zone)


def parsed(text: str, zone: str, pattern: str) -> Rec:
    """Return the DateTime of a text in ISO 8601, or of the form `pattern` if it is not empty."""
    if pattern:
        return by_pattern(text, zone, pattern)
    match = ISO.fullmatch(text)
    if not match:
        longest = next(n for n in range(len(text), -1, -1) if begins(text[:n]))
        return at_fault("no date", longest, "Invalid")
    year, _, month, day, hour, _, minute, second, fraction, offset = match.groups("")
    numbers = [int(part or 0) for part in (year, month, day, hour, minute, second, fraction[:3].ljust(3, "0"))]
    if offset and offset not in "Zz":
        digits = offset[1:].replace(":", "").ljust(4, "0")
        return local(numbers, f"{offset[0]}{digits[:2]}:{digits[2:]}")
    return local(numbers, "UTC" if offset else zone)


def begins(text: str) -> bool:
    """Return whether a text consists of whole parts of a date: a fault stands where a part begins that is none."""
    return bool(re.fullmatch(r"(\d{4}(-?\d\d(-?\d\d([Tt ](\d\d(:?\d\d(:?\d\d)?)?)?)?)?-?)?-?)?", text))


def added(d: Rec, years: int, months: int, days: int, *rest: int) -> Rec:
    """Return a DateTime later by these amounts: days and longer ones by the calendar of its zone, the others by the
    clock."""
    start, zone = moment(d), d.fields["zone"]
    if years or months or days:
        count = d.fields["year"] * 12 + d.fields["month"] - 1 + years * 12 + months
        first, day = dt.date(count // 12, count % 12 + 1, 1), d.fields["day"]
        while (date := first + dt.timedelta(days=day - 1)).month != first.month:
            day -= 1
        date += dt.timedelta(days=days)
        clock = [d.fields[name] for name in NAMES[3:7]]
        start = moment(local([date.year, date.month, date.day, *clock], zone))
    hours, minutes, seconds, ms = rest
    passed = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=ms)
    return shown(start.astimezone(UTC) + passed, zone)


def date_text(d: Rec, pattern: str) -> str:
    """Return a DateTime in ISO 8601, or in the form `pattern` if it is not empty."""
    m, zone, minutes = moment(d), d.fields["zone"], d.fields["offset_minutes"]
    offset = "Z" if zone == "UTC" else f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"
    if not pattern:
        return m.replace(tzinfo=None).isoformat(timespec="milliseconds" if m.microsecond else "seconds") + offset
    words = {"A": DAYS[m.weekday()], "B": MONTHS[m.month - 1], "p": "AM" if m.hour < 12 else "PM"}
    words |= {"a": words["A"][:3], "b": words["B"][:3], "z": offset, "Z": zone, "%": "%"}
    words |= {"f": f"{m.microsecond // 1000:03}", "Y": f"{m.year:04}"}
    words |= {sign: m.strftime("%" + sign) for sign in "mdHIMSjV"}
    part = lambda match: words.get(match[1]) or at_fault("no part", match.start(), "Invalid")  # noqa: E731
    return re.sub("(?s)%(.?)", part, pattern)


DATE_RESULT, ZONE = "Result<DateTime, DateError>", 'zone: String = "UTC"'
DATE = {"of(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, millisecond: Int = 0, "
    f"{ZONE}) -> {DATE_RESULT}": bounded(lambda *given: local(given[:7], given[7])),
    f"from_ms(ms: Int, {ZONE}) -> {DATE_RESULT}": bounded(lambda ms, zone: shown(EPOCH + ms * MS, zone)),
    "to_ms(d: DateTime) -> Int": lambda d: (moment(d) - EPOCH) // MS,
    f'parse(s: String, {ZONE}, pattern: String = "") -> {DATE_RESULT}': bounded(parsed),
    f"in_zone(d: DateTime, zone: String) -> {DATE_RESULT}": bounded(lambda d, zone: shown(moment(d), zone)),
    "add(d: DateTime, years: Int = 0, months: Int = 0, days: Int = 0, hours: Int = 0, minutes: Int = 0, "
    f"seconds: Int = 0, milliseconds: Int = 0) -> {DATE_RESULT}": bounded(added),
    "difference_ms(a: DateTime, b: DateTime) -> Int": lambda a, b: (moment(a) - moment(b)) // MS,
    "days_between(a: DateTime, b: DateTime) -> Int": lambda a, b: (moment(b).date() - moment(a).date()).days,
    "is_before(a: DateTime, b: DateTime) -> Bool": lambda a, b: moment(a) < moment(b),
    "weekday(d: DateTime) -> Int": lambda d: moment(d).isoweekday(),
    "day_of_year(d: DateTime) -> Int": lambda d: moment(d).timetuple().tm_yday,
    "week(d: DateTime) -> (Int, Int)": lambda d: Tup(moment(d).isocalendar()[:2]),
    'format(d: DateTime, pattern: String = "") -> Result<String, DateError>': bounded(date_text)}  # fmt: skip
RECORDS = """struct Url { scheme: String, user: String?, host: String, port: Int?, path: String, query: String?,
    fragment: String? }
struct DateTime { year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int, millisecond: Int,
    offset_minutes: Int, zone: String }"""
ROWS = {"Bytes": BYTES, "encoding": ENCODING, "csv": CSV, "url": URL, "date": DATE}
