"""Lines of a web log taken apart with regular expressions, summed by path and status."""

import re
from dataclasses import dataclass


@dataclass(slots=True)
class Hit:
    path: str
    status: int
    bytes: int


def line(i):
    if i % 20 == 19:
        return f"garbage {i}"
    status = 500 if i % 13 == 0 else 404 if i % 7 == 0 else 200
    return f'10.0.{i % 9}.{i % 200} - - [12/Mar/2030:10:{i % 60}] "GET /page/{i % 12}?q={i} HTTP/1.1" {status} {i * 37 % 5000}'


def hit(text):
    found = re.search(r'"(?:GET|POST) ([^ ?]+)[^"]*" (\d{3}) (\d+)$', text)
    return None if found is None else Hit(found[1], int(found[2]), int(found[3]))


def main(n, emit):
    sizes = {}
    statuses = {}
    refused = 0
    for i in range(n):
        found = hit(line(i))
        if found is None:
            refused += 1
        else:
            sizes[found.path] = sizes.get(found.path, 0) + found.bytes
            statuses[found.status] = statuses.get(found.status, 0) + 1
    emit("bytes", sizes)
    emit("statuses", [list(entry) for entry in statuses.items()])
    emit("refused", refused)
    emit("hidden", re.sub(r"\d+\.\d+$", "x.x", "10.0.3.44"))
