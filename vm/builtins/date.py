"""`std::date` (L-7.15): dates and times in zones.

A `DateTime` is what calendar and clock show at a place, with the offset that holds there then. What may need the rules of zones
is an effect, a request that the host answers with the Result, since only the host knows them; its payload is a tuple of the
operation and what it takes, as Python has it. In UTC and at a given offset it is answered without the host (`answered_here`),
where all is well: what fails, the host says. The rest is arithmetic of the calendar.

Hands on rows to the registry, which `modules.py` loads when a program names the module: the docstring of a decorated function is
its text in the reference, for readers of the language. A body raises P007 for an argument of another kind and P013 for a DateTime
that is no date. Hands on `MONTHS` to `runtime/effects/dates.py`, which performs the effects.
"""

from __future__ import annotations

from functools import lru_cache

from ..panics import Panic
from ..values.errors import make_error
from ..values.objects import DateTime, Err, Ok
from ..values.text import brief, cut_to
from .registry import integer, mismatch, std, std_effect, std_prelude, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any


WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December",
)  # fmt: skip
LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)  # days of the months of a common year
BEFORE = tuple([sum(LENGTHS[:month]) for month in range(12)])  # days of such a year before each month
MOST_PATTERN = 1024  # characters
INTS = frozenset({int})
RESULT = "Result<DateTime, DateError>"
ZONE = 'zone: String = "UTC"'


# ---------------------------------------------------------------- the calendar


def is_leap(year: int) -> bool:
    """Return whether a year of the Gregorian calendar has a 29th of February."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def length_of(year: int, month: int) -> int:
    """Return how many days a month has; `month` is from 1 to 12."""
    return LENGTHS[month - 1] + (month == 2 and is_leap(year))


def ordinal(year: int, month: int, day: int) -> int:
    """Return the days from the first of January of the year 1, which is day 0."""
    before = year - 1
    days = before * 365 + before // 4 - before // 100 + before // 400 + BEFORE[month - 1] + day - 1
    return days + 1 if month > 2 and is_leap(year) else days


def in_year(year: int, month: int, day: int) -> int:
    """Return the number of a day within its year, 1 on the first of January."""
    return BEFORE[month - 1] + (month > 2 and is_leap(year)) + day


def date_of(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a day in the numbers of `ordinal`."""
    cycles, rest = divmod(days, 146_097)  # days of 400 years, then of 100, 4 and one
    centuries, rest = divmod(rest, 36_524)
    fours, rest = divmod(rest, 1461)
    ones, rest = divmod(rest, 365)
    year = cycles * 400 + centuries * 100 + fours * 4 + ones + 1
    if centuries == 4 or ones == 4:  # the last day of a cycle, and of four years
        return year - 1, 12, 31
    month = (rest + 50) >> 5  # the month, or the next one
    first = in_year(year, month, 1) - 1
    if first > rest:
        month -= 1
        first = in_year(year, month, 1) - 1
    return year, month, rest - first + 1


EPOCH = ordinal(1970, 1, 1)
DAY = 86_400_000  # milliseconds
EARLIEST, LATEST = -EPOCH * DAY, (ordinal(9999, 12, 31) - EPOCH + 1) * DAY - 1  # the moments that have a date in UTC


def parts_of(value: Any) -> tuple[int, ...]:
    """Return year, month, day, hour, minute, second, millisecond and offset (in minutes) of a DateTime. Raises P007 for any other
    value, P013 for one that is no date; so do `ms_of`, `days_of` and `week_of`."""
    return _looked_at(value)[0]


def ms_of(value: Any) -> int:
    """Return the milliseconds from the beginning of 1970 in UTC to a DateTime, negative before."""
    return _looked_at(value)[2]


def days_of(value: Any) -> int:
    """Return the day of a DateTime, as it shows it, in the numbers of `ordinal`."""
    return _looked_at(value)[1]


def _looked_at(value: Any) -> tuple[tuple[int, ...], int, int]:
    if type(value) is not DateTime:
        mismatch("DateTime", value)
    known = _known(value.values())
    if known is None:  # one that was read as JSON, or made by the host
        raise Panic("P013", f"no such date: {brief(value)}")
    return known


@lru_cache(maxsize=256)
def _known(fields: tuple[Any, ...]) -> tuple[tuple[int, ...], int, int] | None:
    """Return for the fields of a DateTime all but its zone, its day and its moment; None where they are no date. One DateTime
    mostly goes through several functions of the module."""
    parts, offset = fields[:7], fields[7]
    if not _is_sound(*parts) or not -1440 < offset < 1440:
        return None
    day = ordinal(*parts[:3])
    return fields[:8], day, _moment(day, parts, offset)


def _is_sound(year: int, month: int, day: int, hour: int, minute: int, second: int, millisecond: int) -> bool:
    """Return whether there is such a date and time."""
    return (
        1 <= year <= 9999 and 1 <= month <= 12 and 1 <= day <= length_of(year, month)
        and 0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= millisecond < 1000
    )  # fmt: skip


def moment_of(parts: Sequence[int], offset: int) -> int:
    """Return the milliseconds from the beginning of 1970 in UTC to a date, from year to millisecond, at an offset in minutes."""
    return _moment(ordinal(*parts[:3]), parts, offset)


def _moment(day: int, parts: Sequence[int], offset: int) -> int:
    minutes = ((day - EPOCH) * 24 + parts[3]) * 60 + parts[4] - offset
    return (minutes * 60 + parts[5]) * 1000 + parts[6]


def week_of(value: Any) -> tuple[int, int]:
    """Return year and number, from 1, of the week of ISO 8601 that a DateTime is in."""
    days = days_of(value)
    thursday = days - days % 7 + 3  # the first of January of the year 1 was a Monday
    year = parts_of(value)[0]
    year += (thursday >= ordinal(year + 1, 1, 1)) - (thursday < ordinal(year, 1, 1))
    return year, (thursday - ordinal(year, 1, 1)) // 7 + 1


# ---------------------------------------------------------------- what needs no rules of zones
#
# Each function does in UTC, and at an offset, what the host does in any zone (`runtime/effects/dates.py`), and takes the same. It
# returns the fields of a DateTime, None for a zone with a name, and for what has no date: the host then says what is wrong.


def offset_of(zone: str) -> int | None:
    """Return the minutes of UTC, also under the name Z, or of an offset such as `+02:00`; None for any other zone."""
    if zone == "UTC" or zone == "Z":
        return 0
    hours, minutes = zone[1:3], zone[4:]
    if len(zone) != 6 or zone[0] not in "+-" or zone[3] != ":" or not (_is_number(hours, 23) and _is_number(minutes, 59)):
        return None
    count = int(hours) * 60 + int(minutes)
    return count if zone[0] == "+" else -count


def _is_number(digits: str, most: int) -> bool:
    return digits.isascii() and digits.isdigit() and int(digits) <= most


def _at(moment: int, zone: str) -> tuple[Any, ...] | None:
    offset = offset_of(zone)
    if offset is None or not (EARLIEST <= moment <= LATEST and EARLIEST <= moment + offset * 60_000 <= LATEST):
        return None
    days, rest = divmod(moment + offset * 60_000, DAY)
    seconds, millisecond = divmod(rest, 1000)
    minutes, second = divmod(seconds, 60)
    return (*date_of(days + EPOCH), minutes // 60, minutes % 60, second, millisecond, offset, "UTC" if zone == "Z" else zone)


def _of(parts: list[int], zone: str) -> tuple[Any, ...] | None:
    offset = offset_of(zone)
    if offset is None or not _is_sound(*parts) or not EARLIEST <= moment_of(parts, offset) <= LATEST:
        return None
    return (*parts, offset, "UTC" if zone == "Z" else zone)


def _added(parts: list[int], now: int, months: int, days: int, passed: int, zone: str) -> tuple[Any, ...] | None:
    if not EARLIEST <= now <= LATEST:
        return None
    if months or days:
        year, month = divmod(parts[0] * 12 + parts[1] - 1 + months, 12)
        if not 1 <= year <= 9999:
            return None
        day = ordinal(year, month + 1, min(parts[2], length_of(year, month + 1))) + days
        offset = offset_of(zone)
        if offset is None or not EARLIEST <= (day - EPOCH) * DAY <= LATEST:
            return None
        now = _moment(day, parts, offset)
        if not EARLIEST <= now <= LATEST:
            return None
        if not passed:
            return (*date_of(day), *parts[3:], offset, "UTC" if zone == "Z" else zone)
    return _at(now + passed, zone)


def _parsed(source: str, zone: str, pattern: str) -> tuple[Any, ...] | None:
    """Read a date of ten characters, or one with a time of eight and perhaps an offset: the usual forms of ISO 8601."""
    if pattern or len(source) not in (10, 19, 20, 25) or not source[4] == source[7] == "-":
        return None
    numbers = [source[:4], source[5:7], source[8:10]]
    offset = source[19:]
    if len(source) > 10:
        numbers += [source[11:13], source[14:16], source[17:19]]
        if source[10] not in "Tt " or not source[13] == source[16] == ":" or not (offset in "Zz" or offset[0] in "+-"):
            return None
    digits = "".join(numbers)
    if not digits.isascii() or not digits.isdigit():
        return None
    return _of([*map(int, numbers), *[0] * (7 - len(numbers))], offset.upper() or zone)


HERE: dict[str, Callable[..., tuple[Any, ...] | None]] = {"of": _of, "from_ms": _at, "add": _added, "parse": _parsed}


def answered_here(payload: tuple[Any, ...]) -> Ok | None:
    """Return the Ok of the DateTime that the host would answer with; None where the host is to be asked."""
    operation, *arguments = payload
    fields = HERE[operation](*arguments)
    return None if fields is None else Ok(DateTime.of(fields))


# ---------------------------------------------------------------- what needs the rules of zones


@std_effect(
    "date", f"of(year: Int, month: Int, day: Int, hour: Int = 0, minute: Int = 0, second: Int = 0, millisecond: Int = 0, {ZONE}) "
    f"-> {RESULT}", effect="date", at_once=answered_here, clause="L-7.15.1",
)  # fmt: skip
def of(year: Any, month: Any, day: Any, hour: Any, minute: Any, second: Any, millisecond: Any, zone: Any) -> tuple[Any, ...]:
    """What calendar and clock show in a zone."""
    return ("of", [integer(part) for part in (year, month, day, hour, minute, second, millisecond)], text(zone))


@std_effect("date", f"from_ms(ms: Int, {ZONE}) -> {RESULT}", effect="date", at_once=answered_here, clause="L-7.15.2")
def from_ms(ms: Any, zone: Any) -> tuple[Any, ...]:
    """The moment so many milliseconds after 1970 began in UTC, as a zone shows it."""
    return ("from_ms", integer(ms), text(zone))


std_prelude(
    "date", f"now({ZONE}) -> {RESULT}", clause="L-7.15.2", doc="The time now, as a zone shows it.",
    source="std::date::from_ms(std::time::now_ms(), zone)",
)  # fmt: skip


@std_effect(
    "date", f'parse(s: String, {ZONE}, pattern: String = "") -> {RESULT}', effect="date", at_once=answered_here,
    clause="L-7.15.3",
)  # fmt: skip
def parse(s: Any, zone: Any, pattern: Any) -> tuple[Any, ...]:
    """A date, or date and time, of ISO 8601 or of the pattern, `"%d.%m.%Y"`; one without an offset is in the zone."""
    return ("parse", text(s), text(zone), text(pattern))


@std_effect("date", f"in_zone(d: DateTime, zone: String) -> {RESULT}", effect="date", at_once=answered_here, clause="L-7.15.4")
def in_zone(d: Any, zone: Any) -> tuple[Any, ...]:
    """The same moment as another zone shows it."""
    return ("from_ms", ms_of(d), text(zone))


@std_effect(
    "date", "add(d: DateTime, years: Int = 0, months: Int = 0, days: Int = 0, hours: Int = 0, minutes: Int = 0, "
    f"seconds: Int = 0, milliseconds: Int = 0) -> {RESULT}", effect="date", at_once=answered_here, clause="L-7.15.5",
)  # fmt: skip
def add(
    d: Any, years: Any, months: Any, days: Any, hours: Any, minutes: Any, seconds: Any, milliseconds: Any
) -> tuple[Any, ...]:
    """Years, months and days by the calendar, a day that the month lacks being its last; then the rest as time passes."""
    # The payload: year to millisecond of the DateTime, its moment in ms, months and days to add, ms that pass then, its zone.
    parts, _, now = _looked_at(d)
    counts: tuple[Any, ...] = (years, months, days, hours, minutes, seconds, milliseconds)
    if not INTS.issuperset(map(type, counts)):
        counts = tuple([integer(part) for part in counts])
    passed = ((counts[3] * 60 + counts[4]) * 60 + counts[5]) * 1000 + counts[6]
    return ("add", list(parts[:7]), now, counts[0] * 12 + counts[1], counts[2], passed, d.values()[-1])


# ---------------------------------------------------------------- asking


@std("date", "to_ms(d: DateTime) -> Int", clause="L-7.15.2")
def to_ms(d: Any) -> int:
    """Milliseconds after 1970 began in UTC."""
    return ms_of(d)


@std("date", "difference_ms(a: DateTime, b: DateTime) -> Int", clause="L-7.15.6")
def difference_ms(a: Any, b: Any) -> int:
    """Milliseconds from b to a; negative where a is before b."""
    return ms_of(a) - ms_of(b)


@std("date", "days_between(a: DateTime, b: DateTime) -> Int", clause="L-7.15.6")
def days_between(a: Any, b: Any) -> int:
    """Days from the date of a to the date of b, as a calendar counts them."""
    return _looked_at(b)[1] - _looked_at(a)[1]


@std("date", "is_before(a: DateTime, b: DateTime) -> Bool", clause="L-7.15.6")
def is_before(a: Any, b: Any) -> bool:
    """Whether a is the earlier moment."""
    return ms_of(a) < ms_of(b)


@std("date", "weekday(d: DateTime) -> Int", clause="L-7.15.7")
def weekday(d: Any) -> int:
    """1 on a Monday to 7 on a Sunday."""
    return _looked_at(d)[1] % 7 + 1


@std("date", "day_of_year(d: DateTime) -> Int", clause="L-7.15.7")
def day_of_year(d: Any) -> int:
    """1 on the first of January."""
    return in_year(*parts_of(d)[:3])


@std("date", "week(d: DateTime) -> (Int, Int)", clause="L-7.15.7")
def week(d: Any) -> tuple[int, int]:
    """Year and number of the week of ISO 8601, whose first has the first Thursday."""
    return week_of(d)


# ---------------------------------------------------------------- text


@std("date", 'format(d: DateTime, pattern: String = "") -> Result<String, DateError>', clause="L-7.15.8")
def format_function(d: Any, pattern: Any) -> Ok | Err:
    """ISO 8601 with the offset, `2030-01-02T03:04:05+01:00`; or the pattern, its words in English."""
    parts = parts_of(d)
    if len(text(pattern)) > MOST_PATTERN:
        return _fault(f"a pattern has at most {MOST_PATTERN} characters", cut_to(pattern, 60), None)
    form = pattern or ("%Y-%m-%dT%H:%M:%S.%f%z" if parts[6] else "%Y-%m-%dT%H:%M:%S%z")
    written = _reading(form)
    if type(written) is int:
        letters = " ".join(f"%{one}" for one in WORDS)
        return _fault(f"no part of a pattern: `%{form[written + 1 : written + 2]}`; there are {letters}", form, written)
    return Ok(written[0] % tuple([parts[word] if type(word) is int else word(d, parts) for word in written[1]]))


@lru_cache(maxsize=64)
def _reading(form: str) -> Any:
    """Return a pattern as one for Python's `%`, and its words: positions in the parts, or functions of WORDS. Of a pattern with a
    word that there is not, return where that stands."""
    pieces = []
    words: list[Any] = []
    at = 0
    while at < len(form):
        word = form[at + 1 : at + 2]
        if form[at] != "%":
            pieces.append(form[at])
            at += 1
            continue
        if word not in WORDS:
            return at
        spec, source = WORDS[word]
        pieces.append(spec)
        words.append(source)
        at += 2
    return "".join(pieces), words


def _fault(message: str, source: str, at: int | None) -> Err:
    fields: dict[str, Any] = {"message": message, "input": source}
    if at is not None:
        fields = {"message": f"{message} at character {at + 1}", "input": source, "column": at + 1}
    return Err(make_error("DateError", "Invalid", fields))


def _offset(d: Any, parts: tuple[int, ...]) -> str:
    minutes = parts[7]
    if d.values()[-1] == "UTC" and not minutes:
        return "Z"
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


# What each letter behind `%` in a pattern writes: how, and which of `parts_of`, or the text from a DateTime and its `parts_of`.
WORDS: dict[str, tuple[str, int | Callable[[Any, tuple[int, ...]], str]]] = {
    "Y": ("%04d", 0), "m": ("%02d", 1), "d": ("%02d", 2), "H": ("%02d", 3),
    "I": ("%s", lambda d, p: f"{(p[3] + 11) % 12 + 1:02}"), "p": ("%s", lambda d, p: "AM" if p[3] < 12 else "PM"),
    "M": ("%02d", 4), "S": ("%02d", 5), "f": ("%03d", 6),
    "A": ("%s", lambda d, p: WEEKDAYS[days_of(d) % 7]), "a": ("%s", lambda d, p: WEEKDAYS[days_of(d) % 7][:3]),
    "B": ("%s", lambda d, p: MONTHS[p[1] - 1]), "b": ("%s", lambda d, p: MONTHS[p[1] - 1][:3]),
    "j": ("%s", lambda d, p: f"{in_year(*p[:3]):03}"), "V": ("%s", lambda d, p: f"{week_of(d)[1]:02}"),
    "z": ("%s", _offset), "Z": ("%s", lambda d, p: str(d.values()[-1])), "%": ("%s", lambda d, p: "%"),
}  # fmt: skip
