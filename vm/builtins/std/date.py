"""`std::date` (L-7.15): dates and times in zones, by Python's `datetime` and `zoneinfo`.

A `DateTime` is what calendar and clock show at a place, with the offset that holds there then. Days, months and years are added
as calendars count; hours and less as time passes. Must not know: the clock (`now` asks `std::time`).
"""

from __future__ import annotations

import datetime as dt

from ...panics import Panic
from ...values.display import brief
from ...values.errors import make_error
from ...values.records import DateTime
from ...values.results import Err, Ok
from ..guards import integer, mismatch, text
from ..registry import std, std_prelude

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
LONGEST = 64  # characters of a date that is read, of the name of a zone
MOST_PATTERN = 1024
RESULT = "Result<DateTime, DateError>"


class Fault(Exception):
    """`variant` of DateError, what is wrong and, where a text is, its position."""

    def __init__(self, variant: str, message: str, source: str | None = None, at: int | None = None) -> None:
        super().__init__(message)
        self.variant = variant
        self.source = source
        self.at = at

    def error(self) -> Err:
        fields: dict[str, Any] = {"message": str(self)}
        if self.source is not None:
            fields["input"] = self.source
        if self.at is not None:
            fields["message"] += f" at character {self.at + 1}"
            fields["column"] = self.at + 1
        return Err(make_error("DateError", self.variant, fields))


def _attempt(work: Callable[[], Any]) -> Ok | Err:
    try:
        return Ok(work())
    except Fault as fault:
        return fault.error()
    except (OverflowError, ValueError):  # the calendar of Python has the years 1 to 9999
        return Fault("OutOfRange", "a date before the year 1 or after 9999").error()


# ---------------------------------------------------------------- zones


def zone_of(name: str) -> dt.tzinfo:
    """UTC, an offset such as `+02:00`, or a zone of the tz database such as `Europe/Berlin`."""
    if name in ("UTC", "Z"):
        return dt.UTC
    if name[:1] in ("+", "-"):
        hours, minutes = name[1:3], name[4:]
        if len(name) == 6 and name[3] == ":" and _number(hours, 23) and _number(minutes, 59):
            offset = dt.timedelta(hours=int(hours), minutes=int(minutes))
            return dt.timezone(offset if name[0] == "+" else -offset)
        raise Fault("UnknownZone", f"no offset: {name[:LONGEST]!r}; write it as `+02:00`", name[:LONGEST])
    from zoneinfo import ZoneInfo, available_timezones

    try:
        if len(name) > LONGEST:
            raise ValueError
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        if not available_timezones():
            text = "this system has no time zones: install the Python package `tzdata`, or use UTC and offsets"
            raise Fault("NoTimeZones", text, name[:LONGEST]) from None
        raise Fault("UnknownZone", f"no time zone: {name[:LONGEST]!r}", name[:LONGEST]) from None


def _number(digits: str, most: int) -> bool:
    return digits.isascii() and digits.isdigit() and int(digits) <= most


def _value(moment: dt.datetime, zone: str) -> Any:
    """The record of a moment that knows its zone."""
    offset = moment.utcoffset() or dt.timedelta()
    parts = (moment.year, moment.month, moment.day, moment.hour, moment.minute, moment.second, moment.microsecond // 1000)
    return DateTime.of((*parts, int(offset.total_seconds() // 60), "UTC" if zone == "Z" else zone))


def _moment(value: Any) -> dt.datetime:
    """The moment of a record, at its own offset: an hour that comes twice stays the one it was."""
    if type(value) is not DateTime:
        mismatch("DateTime", value)
    year, month, day, hour, minute, second, millisecond, offset, _ = value.values()
    try:
        zone = dt.timezone(dt.timedelta(minutes=offset))
        return dt.datetime(year, month, day, hour, minute, second, millisecond * 1000, zone)
    except (ValueError, OverflowError):  # one that was read as JSON, or made by the host
        raise Panic("P013", f"no such date: {brief(value)}") from None


def _shown_in(moment: dt.datetime, zone: str) -> Any:
    return _value(moment.astimezone(zone_of(zone)), zone)


def _local(parts: list[int], zone: str) -> Any:
    """What a clock in the zone shows; an hour that is left out is as far behind the change, one that comes twice the first."""
    try:
        year, month, day, hour, minute, second, millisecond = parts
        naive = dt.datetime(year, month, day, hour, minute, second, millisecond * 1000)
    except ValueError as error:
        raise Fault("Invalid", f"no such date: {error}") from None
    return _shown_in(naive.replace(tzinfo=zone_of(zone)).astimezone(dt.UTC), zone)


# ---------------------------------------------------------------- making


@std(
    "date", 'of(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, millisecond: Int = 0, '
    f'zone: String = "UTC") -> {RESULT}', clause="L-7.15.1",
)  # fmt: skip
def of(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any, millisecond: Any, zone: Any) -> Ok | Err:
    """What calendar and clock show in a zone."""
    parts = [integer(part) for part in (year, month, day, hour, minute, second, millisecond)]
    text(zone)
    if not 0 <= parts[6] <= 999:
        return Fault("Invalid", "no such date: millisecond must be in 0..999").error()
    return _attempt(lambda: _local(parts, zone))


@std("date", f'from_ms(ms: Int, zone: String = "UTC") -> {RESULT}', clause="L-7.15.2")
def from_ms(ms: Any, zone: Any) -> Ok | Err:
    """The moment so many milliseconds after 1970 began in UTC, as a zone shows it."""
    integer(ms)
    text(zone)
    return _attempt(lambda: _shown_in(EPOCH + dt.timedelta(milliseconds=ms), zone))


std_prelude(
    "date", f'now(zone: String = "UTC") -> {RESULT}', clause="L-7.15.2", doc="The time now, as a zone shows it.",
    source="std::date::from_ms(std::time::now_ms(), zone)",
)  # fmt: skip


@std("date", f'parse(s: String, zone: String = "UTC") -> {RESULT}', clause="L-7.15.3")
def parse(s: Any, zone: Any) -> Ok | Err:
    """A date, or date and time, of ISO 8601; one without an offset is in the zone."""
    text(zone)
    return _attempt(lambda: _read(text(s), zone))


def _read(source: str, zone: str) -> Any:
    if len(source) > LONGEST:
        raise Fault("Invalid", f"a date has at most {LONGEST} characters", source[:LONGEST], LONGEST)
    reader = _Reader(source)
    parts = reader.date()
    parts += reader.time()
    offset = reader.offset()
    if reader.at < len(source):
        raise reader.fault("nothing more" if offset else "an offset or the end")
    try:
        return _local(parts, offset or zone)
    except Fault as fault:
        if fault.variant != "Invalid":
            raise
        raise Fault("Invalid", str(fault), source) from None


class _Reader:
    """A text of ISO 8601 from left to right, so that a fault has its place."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.at = 0

    def fault(self, expected: str) -> Fault:
        return Fault("Invalid", f"not a date: expected {expected}", self.source, self.at)

    def digits(self, count: int, what: str) -> int:
        found = self.source[self.at : self.at + count]
        if len(found) != count or not (found.isascii() and found.isdigit()):
            raise self.fault(f"{count} digits of the {what}")
        self.at += count
        return int(found)

    def accept(self, signs: str) -> str:
        sign = self.source[self.at : self.at + 1]
        if not sign or sign not in signs:
            return ""
        self.at += 1
        return sign

    def date(self) -> list[int]:
        year = self.digits(4, "year")
        dash = self.accept("-")
        month = self.digits(2, "month")
        if dash and not self.accept("-"):
            raise self.fault("`-`")
        return [year, month, self.digits(2, "day")]

    def time(self) -> list[int]:
        """Hour, minute, second, millisecond; further digits of a fraction are cut."""
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
        start = self.at
        while self.source[self.at : self.at + 1] in tuple("0123456789"):
            self.at += 1
        if self.at == start:
            raise self.fault("digits of a fraction")
        return int(self.source[start : self.at][:3].ljust(3, "0"))

    def offset(self) -> str:
        """The zone that is written, or nothing."""
        sign = self.accept("Zz+-")
        if sign in ("", "Z", "z"):
            return sign and "UTC"
        hours = self.digits(2, "offset")
        self.accept(":")
        minutes = self.digits(2, "offset") if self.at < len(self.source) else 0
        return f"{sign}{hours:02}:{minutes:02}"


# ---------------------------------------------------------------- asking


@std("date", "to_ms(d: DateTime) -> Int", clause="L-7.15.2")
def to_ms(d: Any) -> int:
    """Milliseconds after 1970 began in UTC."""
    return (_moment(d) - EPOCH) // dt.timedelta(milliseconds=1)


@std("date", f"in_zone(d: DateTime, zone: String) -> {RESULT}", clause="L-7.15.4")
def in_zone(d: Any, zone: Any) -> Ok | Err:
    """The same moment as another zone shows it."""
    moment = _moment(d)
    text(zone)
    return _attempt(lambda: _shown_in(moment, zone))


@std(
    "date", "add(d: DateTime, years: Int = 0, months: Int = 0, days: Int = 0, hours: Int = 0, minutes: Int = 0, "
    f"seconds: Int = 0, milliseconds: Int = 0) -> {RESULT}", clause="L-7.15.5",
)  # fmt: skip
def add(
    d: Any, years: Any, months: Any, days: Any, hours: Any, minutes: Any, seconds: Any, milliseconds: Any
) -> Ok | Err:
    """Years, months and days by the calendar, a day that the month lacks being its last; then the rest as time passes."""
    moment = _moment(d)
    for part in (years, months, days, hours, minutes, seconds, milliseconds):
        integer(part)

    def work() -> Any:
        found = moment
        if years or months or days:
            found = _moment(_by_calendar(d, years * 12 + months, days))
        passed = dt.timedelta(hours=hours, minutes=minutes, seconds=seconds, milliseconds=milliseconds)
        return _shown_in((found.astimezone(dt.UTC) + passed), d.values()[-1])

    return _attempt(work)


def _by_calendar(d: Any, months: int, days: int) -> Any:
    year, month, day, *clock, _, zone = d.values()
    count = year * 12 + month - 1 + months
    year, month = count // 12, count % 12 + 1
    first = dt.date(year, month, 1)
    last = (dt.date(year + month // 12, month % 12 + 1, 1) - first).days if year < 9999 or month < 12 else 31
    there = dt.date(year, month, min(day, last)) + dt.timedelta(days=days)
    return _local([there.year, there.month, there.day, *clock], zone)


@std("date", "difference_ms(a: DateTime, b: DateTime) -> Int", clause="L-7.15.6")
def difference_ms(a: Any, b: Any) -> int:
    """Milliseconds from b to a; negative where a is before b."""
    return (_moment(a) - _moment(b)) // dt.timedelta(milliseconds=1)


@std("date", "days_between(a: DateTime, b: DateTime) -> Int", clause="L-7.15.6")
def days_between(a: Any, b: Any) -> int:
    """Days from the date of a to the date of b, as a calendar counts them."""
    _moment(a), _moment(b)
    return (dt.date(*b.values()[:3]) - dt.date(*a.values()[:3])).days


@std("date", "is_before(a: DateTime, b: DateTime) -> Bool", clause="L-7.15.6")
def is_before(a: Any, b: Any) -> bool:
    """Whether a is the earlier moment."""
    return _moment(a) < _moment(b)


@std("date", "weekday(d: DateTime) -> Int", clause="L-7.15.7")
def weekday(d: Any) -> int:
    """1 on a Monday to 7 on a Sunday."""
    return _moment(d).isoweekday()


@std("date", "day_of_year(d: DateTime) -> Int", clause="L-7.15.7")
def day_of_year(d: Any) -> int:
    """1 on the first of January."""
    return _moment(d).timetuple().tm_yday


@std("date", "week(d: DateTime) -> (Int, Int)", clause="L-7.15.7")
def week(d: Any) -> tuple[int, int]:
    """Year and number of the week of ISO 8601, whose first has the first Thursday."""
    return _moment(d).isocalendar()[:2]


# ---------------------------------------------------------------- text


@std("date", 'format(d: DateTime, pattern: String = "") -> Result<String, DateError>', clause="L-7.15.8")
def format_function(d: Any, pattern: Any) -> Ok | Err:
    """ISO 8601 with the offset, `2030-01-02T03:04:05+01:00`; or the pattern, its words in English."""
    moment = _moment(d)
    if len(text(pattern)) > MOST_PATTERN:
        return Fault("Invalid", f"a pattern has at most {MOST_PATTERN} characters").error()
    return _attempt(lambda: _filled(moment, pattern or "%Y-%m-%dT%H:%M:%S%f%z", d.values()[-1], pattern == ""))


def _filled(moment: dt.datetime, pattern: str, zone: str, is_iso: bool) -> str:
    made = []
    at = 0
    while at < len(pattern):
        if pattern[at] != "%":
            made.append(pattern[at])
            at += 1
            continue
        word = pattern[at + 1 : at + 2]
        if word not in WORDS:
            raise Fault("Invalid", f"no part of a pattern: `%{word}`; there are {' '.join('%' + w for w in WORDS)}", pattern, at)
        part = WORDS[word](moment, zone)
        if is_iso and word == "f":
            part = f".{part}" if moment.microsecond else ""
        made.append(part)
        at += 2
    return "".join(made)


def _offset(moment: dt.datetime, zone: str) -> str:
    minutes = int((moment.utcoffset() or dt.timedelta()).total_seconds() // 60)
    if zone == "UTC" and not minutes:
        return "Z"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


WORDS: dict[str, Callable[[dt.datetime, str], str]] = {
    "Y": lambda m, z: f"{m.year:04}", "m": lambda m, z: f"{m.month:02}", "d": lambda m, z: f"{m.day:02}",
    "H": lambda m, z: f"{m.hour:02}", "I": lambda m, z: f"{(m.hour + 11) % 12 + 1:02}",
    "p": lambda m, z: "AM" if m.hour < 12 else "PM",
    "M": lambda m, z: f"{m.minute:02}", "S": lambda m, z: f"{m.second:02}", "f": lambda m, z: f"{m.microsecond // 1000:03}",
    "A": lambda m, z: WEEKDAYS[m.weekday()], "a": lambda m, z: WEEKDAYS[m.weekday()][:3],
    "B": lambda m, z: MONTHS[m.month - 1], "b": lambda m, z: MONTHS[m.month - 1][:3],
    "j": lambda m, z: f"{m.timetuple().tm_yday:03}", "V": lambda m, z: f"{m.isocalendar()[1]:02}",
    "z": _offset, "Z": lambda m, z: z, "%": lambda m, z: "%",
}  # fmt: skip
