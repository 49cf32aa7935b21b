"""Names that are nearly the same: the distance of Levenshtein, pairs of letters in common, the best candidate."""

from dataclasses import dataclass


@dataclass(slots=True)
class Match:
    name: str
    distance: int
    alike: float


def distance(a, b):
    before = list(range(len(b) + 1))
    for i, x in enumerate(a):
        row = [i + 1]
        for j, y in enumerate(b):
            change = before[j] + (0 if x == y else 1)
            row.append(min(change, before[j + 1] + 1, row[j] + 1))
        before = row
    return before[len(b)]


def pairs(text):
    return {text[i : i + 2] for i in range(len(text) - 1)}


def alike(a, b):
    left = pairs(a)
    right = pairs(b)
    return 2.0 * len(left & right) / (len(left) + len(right))


def best(name, names):
    found = None
    for candidate in names:
        share = alike(name, candidate)
        if share < 0.3:
            continue
        steps = distance(name, candidate)
        if found is None or steps < found.distance or steps == found.distance and share > found.alike:
            found = Match(candidate, steps, share)
    return found or Match("none", len(name), 0.0)


def mistyped(name, i):
    at = i * 7 % (len(name) - 1)
    match i % 4:
        case 0:
            return name[:at] + name[at + 1 :]
        case 1:
            return name[:at] + "x" + name[at:]
        case 2:
            return name[:at] + name[at + 1 : at + 2] + name[at : at + 1] + name[at + 2 :]
    return name[:at] + name[at:][::-1]


def main(n, emit):
    first = ["anna", "berta", "christian", "dorothea", "emil", "friedrich"]
    last = ["meier", "schmidt", "lindgren", "kowalski", "okafor"]
    names = [f"{f} {name}" for f in first for name in last]
    right = steps = 0
    share = 0.0
    missed = []
    for i in range(n):
        name = names[i * 11 % len(names)]
        found = best(mistyped(name, i), names)
        if found.name == name:
            right += 1
        else:
            missed.append(f"{name} > {found.name}")
        steps += found.distance
        share += found.alike
    emit("right", right)
    emit("steps", steps)
    emit("share", share)
    emit("missed", len(missed))
    emit("shown", missed[:3])
