"""Look-ups that may be absent, chained."""

from dataclasses import dataclass


@dataclass(slots=True)
class Person:
    name: str
    manager: str | None
    phone: int | None


def everybody():
    return {f"p{i}": Person(f"p{i}", None if i == 0 else f"p{i // 3}", 1000 + i if i % 4 == 1 else None) for i in range(60)}


def manager(people, name):
    person = people.get(name)
    if person is None or person.manager is None:
        return None
    return people.get(person.manager)


def phone_of(person):
    return None if person is None else person.phone


def reachable(people, name):
    phone = phone_of(people.get(name))
    if phone is None:
        phone = phone_of(manager(people, name))
    return phone if phone is not None and phone % 2 == 1 else None


def depth(people, name):
    m = manager(people, name)
    return 0 if m is None else 1 + depth(people, m.name)


def main(n, emit):
    people = everybody()
    phones = unreachable = depths = letters = 0
    for i in range(n):
        name = f"p{i * 7 % 75}"
        phone = reachable(people, name)
        if phone is None:
            unreachable += 1
        else:
            phones += phone
        depths += depth(people, name)
        m = manager(people, name)
        letters += 100 if m is None else len(m.name)
        own = phone_of(people.get(name))
        phones += 1 if own is None else own * 2
    emit("phones", phones)
    emit("unreachable", unreachable)
    emit("depths", depths)
    emit("letters", letters)
