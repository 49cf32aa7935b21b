"""Zones of dates: what the host has no rules for, and what the calendar does not have (L-7.15.4, L-7.15.9)."""

from __future__ import annotations

import datetime as dt
import random
import re
import sys
import zoneinfo
from collections.abc import Iterator

import concerto
import pytest

PROGRAM = concerto.compile(
    """
use std::date;
use std::date::DateTime;
use std::json;
pub fn shown(zone: String) -> Result<String, DateError> { date::format(date::from_ms(0, zone)?) }
pub fn read(text: String) -> Result<Int, DateError> { Ok(date::to_ms(date::parse(text)?)) }
pub fn of_json(text: String) -> Result<Int, Error> { Ok(date::to_ms(json::parse_as<DateTime>(text)?)) }
"""
)
DATE = (
    '{"year":2024,"month":2,"day":DAY,"hour":0,"minute":0,"second":0,"millisecond":0,"offset_minutes":OFFSET,"zone":"UTC"}'
)


@pytest.fixture
def without_zones(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """As Windows is without the package `tzdata`."""
    monkeypatch.setitem(sys.modules, "tzdata", None)
    zoneinfo.reset_tzpath(to=())
    zoneinfo.ZoneInfo.clear_cache()
    yield
    zoneinfo.reset_tzpath()


@pytest.mark.usefixtures("without_zones")
def test_a_system_without_zones_says_what_to_install() -> None:
    with PROGRAM.session() as session:
        with pytest.raises(concerto.ProgramError, match="DateError::NoTimeZones.*tzdata"):
            session.call("shown", "Europe/Berlin")
        assert session.call("shown", "UTC") == "1970-01-01T00:00:00Z"
        assert session.call("shown", "-09:30") == "1969-12-31T14:30:00-09:30"


@pytest.mark.parametrize("zone", ["", "../etc/passwd", "/etc/passwd", "Mars/Olympus", "x" * 100, "+2", "+25:00", "\0"])
def test_what_is_no_zone(zone: str) -> None:
    with PROGRAM.session() as session, pytest.raises(concerto.ProgramError, match="DateError::UnknownZone"):
        session.call("shown", zone)


def test_a_date_from_outside_that_is_none() -> None:
    with PROGRAM.session() as session:
        assert session.call("of_json", DATE.replace("DAY", "29").replace("OFFSET", "60")) == 1709161200000
        for day, offset in (("30", "0"), ("0", "0"), ("1", "1440"), ("1", "99999999999")):
            with pytest.raises(concerto.Panic, match="P013.*no such date"):
                session.call("of_json", DATE.replace("DAY", day).replace("OFFSET", offset))


@pytest.mark.parametrize(
    "text",
    [
        "", "2024", "2024-02-30", "2024-2-1", "2024-01-01T25:00", "2024-01-01T10:00+99:00", "2024-01-01T10:00+05:",
        "2024-01-01T10:00+", "x" * 99,
    ],
)  # fmt: skip
def test_what_is_no_date(text: str) -> None:
    with PROGRAM.session() as session, pytest.raises(concerto.ProgramError, match="DateError::(Invalid|UnknownZone)"):
        session.call("read", text)


PATTERNS = (
    "%d.%m.%Y", "%m/%d/%Y %I:%M %p", "%Y%m%d%H%M%S", "%B %d %Y %H", "%b %d, %Y", "%d-%b-%Y %H:%M:%S", "%%%Y %d %m",
)  # fmt: skip
PATTERN = concerto.compile(
    """
use std::date;
pub fn read(text: String, pattern: String) -> Result<String, DateError> { date::format(date::parse(text, pattern: pattern)?) }
"""
)


@pytest.mark.parametrize("seed", range(3))
def test_patterns_read_what_python_reads(seed: int) -> None:
    among = random.Random(seed).randint
    with PATTERN.session() as session:
        for _ in range(60):
            pattern = PATTERNS[among(0, len(PATTERNS) - 1)]
            moment = dt.datetime(among(1, 9999), among(1, 12), among(1, 28), among(0, 23), among(0, 59), among(0, 59))
            text = moment.strftime(pattern.replace("%Y", f"{moment.year:04}"))
            assert session.call("read", text, pattern) == f"{dt.datetime.strptime(text, pattern).isoformat()}Z", text


def test_a_date_that_a_pattern_would_read_says_so() -> None:
    with PATTERN.session() as session:
        for text, part in (("5.3.2030", '`pattern: "%d.%m.%Y"` reads it'), ("05/03/2030", '`pattern: "%d/%m/%Y"` reads it')):
            with pytest.raises(concerto.ProgramError, match=re.escape(f'not a date: "{text}" ({part})')):
                session.call("read", text, "")
        with pytest.raises(concerto.ProgramError, match="no time zone: '%d.%m.%Y'; a pattern is named"), concerto.compile(
            'pub fn f() -> Result<Int, DateError> { std::date::parse("2030-03-05", "%d.%m.%Y").map(|_| 1) }'
        ).session() as positional:
            positional.call("f")
