"""Dates: due days by adding months, weekdays, days between, formats, a plan without week-ends."""

from calendar import monthrange
from datetime import UTC, datetime, timedelta


def later(day, months, days):
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    last = monthrange(year, month + 1)[1]
    return day.replace(year=year, month=month + 1, day=min(day.day, last)) + timedelta(days=days)


def workday(day):
    while day.isoweekday() > 5:
        day += timedelta(days=1)
    return day


def main(n, emit):
    start = datetime(2024, 1, 31, tzinfo=UTC)
    weekdays = [0] * 7
    between = moved = 0
    last = ""
    for i in range(n):
        due = later(start, i % 60, i)
        weekdays[due.isoweekday() - 1] += 1
        between += (due - start).days
        working = workday(due)
        if working != due:
            moved += 1
        last = working.strftime("%Y-%m-%d %H:%M")
        if datetime.fromisoformat(last[:10]).timetuple().tm_yday != working.timetuple().tm_yday:
            raise ValueError(f"read otherwise than written: {last}")
    emit("weekdays", weekdays)
    emit("between", between)
    emit("moved", moved)
    emit("last", last)
