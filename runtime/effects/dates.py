"""The operations of `std::date` that need the rules of time zones, by Python's `datetime` and `zoneinfo` (L-7.15).

Hands on `OPERATIONS` and `Fault` to `world.py`. Each operation returns the nine fields of a DateTime: year, month, day, hour,
minute, second, millisecond, offset from UTC in minutes, and the name of the zone. It raises Fault: Invalid for a date that does
not exist, OutOfRange where Python's calendar ends (the functions below raise it for a year that is none, else OverflowError or
ValueError, which `bounded` turns into it), UnknownZone or NoTimeZones as `zone_of`. Nothing here looks at the clock. Arithmetic
without zones is `vm/builtins/date.py`. What a pattern of `parse` may hold is said by COUNTS and `_Reader.of_pattern`.
"""

from __future__ import annotations

import datetime as dt
import re

from ...vm.builtins.date import MONTHS
from ...vm.values.text import cut_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    DateFields = tuple[Any, ...]

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
# What a pattern reads by digits: how many at least and at most, and what they are.
COUNTS = {
    "Y": (4, 4, "year"), "m": (1, 2, "month"), "d": (1, 2, "day"), "H": (1, 2, "hour"), "I": (1, 2, "hour"),
    "M": (1, 2, "minute"), "S": (1, 2, "second"),
}  # fmt: skip
OTHER_ORDER = re.compile(r"\d{1,2}([./])\d{1,2}\1\d{4}")
LONGEST = 64  # code points of a date that is read, of a pattern, of the name of a zone


class Fault(Exception):
    """A failure with a `variant` of DateError. `source` is the text at fault, None when there is none: the date, the pattern or
    the name of the zone; `at` is the position in it, in code points from 0, None when it is not known."""

    def __init__(self, variant: str, message: str, source: str | None = None, at: int | None = None) -> None:
        super().__init__(message)
        self.variant = variant
        self.source = source
        self.at = at


BEYOND = "a date before the year 1 or after 9999"


def bounded(work: Callable[..., DateFields]) -> Callable[..., DateFields]:
    """Return an operation that does what `work` does, and raises Fault (OutOfRange) where Python's calendar ends: it has the
    years 1 to 9999."""

    def run(*arguments: Any) -> DateFields:
        try:
            return work(*arguments)
        except (OverflowError, ValueError):
            raise Fault("OutOfRange", BEYOND) from None

    return run


def zone_of(name: str) -> dt.tzinfo:
    """Return the zone of a name: UTC or Z, an offset such as `+02:00`, or one of the tz database such as `Europe/Berlin`.

    Raises Fault: UnknownZone, or NoTimeZones when the system has no tz database."""
    if name in ("UTC", "Z"):
        return dt.UTC
    if name[:1] in ("+", "-"):
        hours, minutes = name[1:3], name[4:]
        if len(name) == 6 and name[3] == ":" and _number(hours, 23) and _number(minutes, 59):
            offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
            return dt.timezone(offset if name[0] == "+" else -offset)
        raise Fault("UnknownZone", f"no offset: {cut_to(name, LONGEST)!r}; write it as `+02:00`", cut_to(name, LONGEST))
    from zoneinfo import ZoneInfo

    try:
        if len(name) > LONGEST:
            raise ValueError
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        if not _has_zones():
            text = "this system has no time zones: install the Python package `tzdata`, or use UTC and offsets"
            raise Fault("NoTimeZones", text, cut_to(name, LONGEST)) from None
        hint = "; a pattern is named: `pattern: …`" if "%" in name else ""
        raise Fault("UnknownZone", f"no time zone: {cut_to(name, LONGEST)!r}{hint}", cut_to(name, LONGEST)) from None


def _has_zones() -> bool:
    """Return whether there is a tz database. One file is looked for: listing all zones would take long."""
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo.no_cache("Etc/UTC")
    except (KeyError, ValueError, OSError):
        return False
    return True


def _number(digits: str, most: int) -> bool:
    return digits.isascii() and digits.isdigit() and int(digits) <= most


def _fields(moment: dt.datetime, zone: str) -> DateFields:
    local = moment.astimezone(zone_of(zone))
    offset = local.utcoffset() or dt.timedelta()
    parts = (local.year, local.month, local.day, local.hour, local.minute, local.second, local.microsecond // 1000)
    return (*parts, int(offset.total_seconds() // 60), "UTC" if zone == "Z" else zone)


def _moment(parts: list[int], zone: str) -> dt.datetime:
    """Return the moment at which a clock in the zone shows these seven parts.

    Where clocks are put forward, a time that they skip counts as if they had not been; where they are put back, a time that they
    show twice is the first one (PEP 495, fold=0). Fault (Invalid) when there is no such date, OutOfRange for another year than
    1 to 9999."""
    year, month, day, hour, minute, second, millisecond = parts
    if not dt.MINYEAR <= year <= dt.MAXYEAR:
        raise Fault("OutOfRange", BEYOND)
    try:
        if not 0 <= millisecond < 1000:
            raise ValueError("millisecond must be in 0..999")
        naive = dt.datetime(year, month, day, hour, minute, second, millisecond * 1000)
    except (ValueError, OverflowError) as error:
        raise Fault("Invalid", f"no such date: {error}") from None
    return naive.replace(tzinfo=zone_of(zone)).astimezone(dt.UTC)


def of(parts: list[int], zone: str) -> DateFields:
    """Return the date of seven parts, year to millisecond, as a clock in the zone shows them (`_moment`)."""
    return _fields(_moment(parts, zone), zone)


def from_ms(ms: int, zone: str) -> DateFields:
    """Return the date, in the zone, of a moment in milliseconds since 1970 in UTC."""
    return _fields(EPOCH + dt.timedelta(milliseconds=ms), zone)


def add(parts: list[int], now: int, months: int, days: int, milliseconds: int, zone: str) -> DateFields:
    """Return a date with months and days of the calendar, then milliseconds of time, added to it.

    `parts` are the seven parts of the date, as a clock in the zone shows them, and `now` is its moment in milliseconds since
    1970: where an hour comes twice, the parts alone do not say which one it is, so without months and days the moment counts."""
    moment = EPOCH + dt.timedelta(milliseconds=now)
    if months or days:
        count = parts[0] * 12 + parts[1] - 1 + months
        first = dt.date(count // 12, count % 12 + 1, 1)
        last = 31 if first.month == 12 else (first.replace(month=first.month + 1) - first).days
        day = first.replace(day=min(parts[2], last)) + dt.timedelta(days=days)  # a month too short ends on its last day
        moment = _moment([day.year, day.month, day.day, *parts[3:]], zone)
    return _fields(moment + dt.timedelta(milliseconds=milliseconds), zone)


def parse(source: str, zone: str, pattern: str) -> DateFields:
    """Return the date that a text holds, in ISO 8601 (a date, perhaps a time and an offset, with or without signs between their
    parts), or by `pattern` unless that is empty. `zone` counts when the text has no offset.

    Raises Fault: Invalid, OutOfRange for the year 0, or as `zone_of` for a zone, or an offset of the text, that does not
    exist."""
    if len(source) > LONGEST:
        raise Fault("Invalid", f"a date has at most {LONGEST} characters", cut_to(source, LONGEST), LONGEST)
    reader = _Reader(source)
    if pattern:
        parts, offset = reader.of_pattern(pattern)
    else:
        parts = reader.date()
        parts += reader.time()
        offset = reader.offset()
    if reader.at < len(source):
        raise reader.fault("nothing more" if offset or pattern else "an offset or the end")
    try:
        return of(parts, offset or zone)
    except Fault as fault:
        if fault.variant == "Invalid":
            fault.source = source
        raise


class _Reader:
    """Reads a text from left to right, so that a fault has its position. A method that reads a part raises Fault (Invalid) where
    it is not there, unless it says what it returns then."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def fault(self, expected: str) -> Fault:
        """Return the fault that something else was expected here."""
        other = OTHER_ORDER.fullmatch(self.source) if self.at == 0 else None
        hint = f" (`pattern: \"%d{other[1]}%m{other[1]}%Y\"` reads it)" if other else ""
        return Fault("Invalid", f"not a date: \"{self.source}\"{hint}: expected {expected}", self.source, self.at)

    def of_pattern(self, pattern: str) -> tuple[list[int], str]:
        """Read by a pattern; return the seven parts, and the offset as the name of a zone, "" without one. A part that the
        pattern lacks has its lowest value; the year must not be missing."""
        values = {"m": 1, "d": 1, "H": 0, "M": 0, "S": 0, "f": 0}
        offset, at = "", 0
        if len(pattern) > LONGEST:
            raise Fault("Invalid", f"a pattern of a date has at most {LONGEST} characters", cut_to(pattern, LONGEST))
        while at < len(pattern):
            word = pattern[at + 1 : at + 2] if pattern[at] == "%" else ""
            if word == "z":
                offset = self.offset()
            elif word in ("B", "b"):
                values["m"] = 1 + self.word([name[: 3 if word == "b" else None] for name in MONTHS], "a month")
            elif word == "p":
                values["p"] = self.word(["AM", "PM"], "AM or PM")
            elif word == "f":
                values["f"] = self.fraction()
            elif word in COUNTS:
                values["H" if word == "I" else word] = self.number(*COUNTS[word])
            elif word not in ("", "%") or (not word and pattern[at] == "%"):
                letters = " ".join(f"%{letter}" for letter in (*COUNTS, "f", "B", "b", "p", "z", "%"))
                raise Fault("Invalid", f"`%{word}` of a pattern cannot be read; there are {letters}", pattern, at)
            elif not self.accept(pattern[at]):
                raise self.fault(f"`{pattern[at]}`")
            at += 2 if word else 1
        if "Y" not in values:
            raise Fault("Invalid", f"the pattern \"{pattern}\" has no year: write %Y", pattern)
        if "p" in values:
            if not 1 <= values["H"] <= 12:
                raise self.fault("an hour of 1 to 12")
            values["H"] = values["H"] % 12 + 12 * values["p"]
        return [values[part] for part in "YmdHMSf"], offset

    def word(self, words: list[str], what: str) -> int:
        """Read one of several words, in any case; return its number in the list, from 0 on."""
        rest = self.source[self.at :].lower()
        for number, word in enumerate(words):
            if rest.startswith(word.lower()):
                self.at += len(word)
                return number
        raise self.fault(what)

    def number(self, least: int, most: int, what: str) -> int:
        """Read as many digits as there are, from `least` to `most`."""
        count = most
        while count > least and not self.source[self.at : self.at + count].isdigit():
            count -= 1
        count = min(count, max(len(self.source) - self.at, least))
        return self.digits(count, what)

    def digits(self, count: int, what: str) -> int:
        """Read exactly that many digits."""
        text = self.source[self.at : self.at + count]
        if len(text) != count or not (text.isascii() and text.isdigit()):
            raise self.fault(f"{count} digit{'s' * (count != 1)} of the {what}")
        self.at += count
        return int(text)

    def accept(self, signs: str) -> str:
        """Read one of these characters and return it; "" when another one stands here."""
        sign = self.source[self.at : self.at + 1]
        if not sign or sign not in signs:
            return ""
        self.at += 1
        return sign

    def date(self) -> list[int]:
        """Read year, month and day, with dashes or without."""
        year = self.digits(4, "year")
        dash = self.accept("-")
        month = self.digits(2, "month")
        if dash and not self.accept("-"):
            raise self.fault("`-`")
        return [year, month, self.digits(2, "day")]

    def time(self) -> list[int]:
        """Read hour, minute, second and millisecond, zeros where the text has no time."""
        if not self.accept("Tt "):
            return [0, 0, 0, 0]
        hour = self.digits(2, "hour")
        colon = self.accept(":")
        minute = self.digits(2, "minute")
        second = millisecond = 0
        if self.accept(":") if colon else self.source[self.at : self.at + 1].isdigit():
            second = self.digits(2, "second")
            if self.accept(".,"):
                millisecond = self.fraction()
        return [hour, minute, second, millisecond]

    def fraction(self) -> int:
        """Read the digits of a fraction of a second and return milliseconds; further digits are cut."""
        start = self.at
        while self.source[self.at : self.at + 1] in tuple("0123456789"):
            self.at += 1
        if self.at == start:
            raise self.fault("digits of a fraction")
        return int(self.source[start : self.at][:3].ljust(3, "0"))

    def offset(self) -> str:
        """Read an offset and return it as the name of a zone; "" when there is none."""
        sign = self.accept("Zz+-")
        if sign in ("", "Z", "z"):
            return sign and "UTC"
        hours = self.digits(2, "offset")
        colon = self.accept(":")
        minutes = self.digits(2, "offset") if colon or self.at < len(self.source) else 0
        return f"{sign}{hours:02}:{minutes:02}"


OPERATIONS: dict[str, Callable[..., DateFields]] = {
    "of": bounded(of), "from_ms": bounded(from_ms), "add": bounded(add), "parse": bounded(parse),
}  # fmt: skip
