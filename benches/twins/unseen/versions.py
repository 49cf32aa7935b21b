"""Version numbers: parsed, compared, sorted, and chosen by a range of versions."""

from dataclasses import dataclass
from functools import cmp_to_key


@dataclass(slots=True)
class Version:
    major: int
    minor: int
    patch: int
    tag: str

    def fits(self, low, high):
        return order(low, self) <= 0 and order(self, high) < 0

    def shown(self):
        text = f"{self.major}.{self.minor}.{self.patch}"
        return f"{text}-{self.tag}" if self.tag else text


def parsed(text):
    numbers, _, tag = text.partition("-")
    values = [int(number) for number in numbers.split(".")]
    if len(values) != 3:
        raise ValueError(text)
    return Version(*values, tag)


def order(a, b):
    if a.major != b.major:
        return a.major - b.major
    if a.minor != b.minor:
        return a.minor - b.minor
    if a.patch != b.patch:
        return a.patch - b.patch
    if a.tag == b.tag:
        return 0
    if not a.tag:
        return 1
    if not b.tag:
        return -1
    return -1 if a.tag < b.tag else 1


def main(n, emit):
    versions = []
    bad = 0
    for i in range(n):
        tag = f"-rc{i % 3}" if i % 6 == 0 else ""
        text = f"1.x.{i}" if i % 20 == 19 else f"{i * 7 % 4}.{i * 13 % 10}.{i % 25}{tag}"
        try:
            versions.append(parsed(text))
        except ValueError:
            bad += 1
    versions.sort(key=cmp_to_key(order))
    low = parsed("1.2.0")
    high = parsed("2.0.0")
    fitting = [v for v in versions if v.fits(low, high)]
    emit("bad", bad)
    emit("fitting", len(fitting))
    emit("newest", fitting[-1].shown() if fitting else "none")
    emit("letters", sum(len(v.shown()) for v in versions))
