"""What `std::date` answers without the host is what the host answers, and what fails is left to it (L-7.15)."""

from __future__ import annotations

import json
import random
from pathlib import Path

import concerto
import pytest
from concerto.runtime.effects.dates import OPERATIONS, Fault
from concerto.vm.builtins.date import EARLIEST, LATEST, answered_here, date_of, ordinal

ZONES = ["UTC", "Z", "+02:00", "-09:30", "+23:59", "-23:59", "+00:00", "-00:00"]
EDGES = [EARLIEST, LATEST, 0, -1, 86_399_999, 951_782_400_000, -2_208_988_800_000]
UNKNOWN = ["Europe/Berlin", "", "+25:00", "+2:00", "+02.00", "+٠٢:00", "utc", "z"]


def number(chance: random.Random, low: int, high: int) -> int:
    return chance.randint(low, high) if chance.random() < 0.95 else chance.choice([low - 1, high + 1, 10**12, -(10**12)])


def parts(chance: random.Random) -> list[int]:
    year = chance.choice([chance.randint(1, 9999), 1, 9999, 1900, 2000, 2024])
    ends = ((1, 12), (1, 31), (0, 23), (0, 59), (0, 59), (0, 999))
    return [number(chance, year, year), *[number(chance, low, high) for low, high in ends]]


def moment(chance: random.Random) -> int:
    return chance.choice([chance.randint(EARLIEST, LATEST), chance.choice(EDGES) + chance.randint(-2, 2)])


def text(chance: random.Random) -> str:
    year, month, day, hour, minute, second, _ = parts(chance)
    source = f"{year:04}-{month:02}-{day:02}"
    source += chance.choice(["", f"T{hour:02}:{minute:02}:{second:02}", f" {hour:02}:{minute:02}:{second:02}", "T10:00", "t1"])
    source += chance.choice(["", "Z", "z", "+01:00", "-09:30", "+01", ".5", "+01:0", "x"])
    if chance.random() < 0.1:
        at = chance.randrange(len(source))
        source = source[:at] + chance.choice(["x", "", "٣", "-", " "]) + source[at + 1 :]
    return source


def payload(chance: random.Random) -> tuple[object, ...]:
    zone = chance.choice(ZONES)
    operation = chance.choice(["of", "from_ms", "add", "parse"])
    if operation == "of":
        return ("of", parts(chance), zone)
    if operation == "from_ms":
        return ("from_ms", moment(chance), zone)
    if operation == "parse":
        return ("parse", text(chance), zone, "")
    now = moment(chance)
    start = answered_here(("from_ms", now, zone))
    if start is None:
        return ("from_ms", now, zone)
    months, days = chance.choice([(0, 0), (chance.randint(-50, 50), chance.randint(-400, 400)), (10**7, 0), (0, -(10**9))])
    passed = chance.choice([0, chance.randint(-(10**9), 10**9), 10**20, chance.randint(-(10**14), 10**14)])
    return ("add", list(start.value.values()[:7]), now, months, days, passed, start.value.values()[-1])


def test_answers_are_those_of_the_host() -> None:
    chance = random.Random(3)
    answered = dict.fromkeys(OPERATIONS, 0)
    for _ in range(20_000):
        asked = payload(chance)
        found = answered_here(asked)
        operation, *arguments = asked
        try:
            expected = OPERATIONS[str(operation)](*arguments)
        except Fault:
            assert found is None, asked
            continue
        if found is not None:
            assert tuple(found.value.values()) == expected, asked
            answered[str(operation)] += 1
        else:
            assert operation == "parse", asked
    assert min(answered.values()) > 500, answered


@pytest.mark.parametrize("zone", UNKNOWN)
def test_other_zones_are_the_matter_of_the_host(zone: str) -> None:
    assert answered_here(("of", [2024, 2, 29, 0, 0, 0, 0], zone)) is None
    assert answered_here(("from_ms", 0, zone)) is None
    assert answered_here(("add", [2024, 2, 29, 0, 0, 0, 0], 0, 1, 0, 0, zone)) is None
    assert answered_here(("parse", "2024-02-29", zone, "")) is None


def test_days_have_their_dates() -> None:
    for days in (*range(3000), *range(ordinal(1899, 12, 1), ordinal(1904, 2, 1)), *range(ordinal(1999, 12, 1), 731_000)):
        assert ordinal(*date_of(days)) == days
    assert date_of(ordinal(9999, 12, 31)) == (9999, 12, 31)


@pytest.mark.parametrize("tier", ["interp", "both"])
def test_they_count_among_the_effects_of_their_task(tier: str, tmp_path: Path) -> None:
    """Recordings and runs of a store that were made when each was an effect have its number in their keys."""
    program = concerto.compile("""
        use std::date;
        model M { provider: offline }
        fn main() -> Result<Nil> {
            let mut day = date::of(2024, 1, 31)?;
            for i in 0..3000 { day = date::add(day, days: 1)?; }
            emit("said", M.execute(date::format(day, "%Y")?)?.text);
            Ok(nil)
        }
    """)
    with program.session(offline=True, record=tmp_path / "r.jsonl", tier=tier) as session:
        assert session.run().error is None
    keys = [row["effect"] for row in map(json.loads, (tmp_path / "r.jsonl").read_text().splitlines()) if "effect" in row]
    assert keys == ["0:3002/1"]
