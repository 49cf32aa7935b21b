"""Packages that need others in certain versions: the newest that fit are chosen, by going back where none does."""

from dataclasses import dataclass, field


class Conflict(Exception):
    pass


@dataclass(slots=True)
class Need:
    name: str
    least: int
    below: int


@dataclass(slots=True)
class Release:
    version: int
    needs: list


@dataclass(slots=True)
class Found:
    chosen: dict = field(default_factory=dict)
    tried: int = 0


def index(seed):
    out = {}
    for p in range(9):
        releases = []
        for version in range(1, 6):
            needs = []
            for k in range(1, 3):
                other = p + k + (version + seed) % 2
                if other < 9:
                    least = (version * k + seed + p) % 5
                    needs.append(Need(f"p{other}", least, least + 3))
            if version == 2 and p % 4 == 3:
                needs.append(Need("gone", 1, 2))
            releases.append(Release(version, needs))
        out[f"p{p}"] = releases
    return out


def resolve(packages, needs, found):
    if not needs:
        return found
    first = needs[0]
    rest = needs[1:]
    known = found.chosen.get(first.name)
    if known is not None:
        if known < first.least or known >= first.below:
            raise Conflict(f"{first.name} is {known} already")
        return resolve(packages, rest, found)
    releases = packages.get(first.name)
    if releases is None:
        raise Conflict(f"no package {first.name}")
    last = Conflict(f"no {first.name} in {first.least}..{first.below}")
    tried = found.tried
    for release in reversed(releases):
        if release.version < first.least or release.version >= first.below:
            continue
        tried += 1
        try:
            return resolve(packages, rest + release.needs, Found({**found.chosen, first.name: release.version}, tried))
        except Conflict as conflict:
            last = conflict
    raise last


def main(n, emit):
    versions = tried = 0
    conflicts = {}
    last = {}
    for i in range(n):
        wanted = [Need("p0", i % 5, i % 5 + 2), Need(f"p{i % 7 + 1}", i % 3, 5)]
        try:
            found = resolve(index(i % 11), wanted, Found())
        except Conflict as conflict:
            why = str(conflict)
            conflicts[why] = conflicts.get(why, 0) + 1
        else:
            versions += sum(found.chosen.values())
            tried += found.tried
            last = found.chosen
    emit("versions", versions)
    emit("tried", tried)
    emit("conflicts", conflicts)
    emit("last", last)
