"""A JSON document of unknown shape: walked by kind, counted, summed by path, and changed on the way."""

import json

KINDS = {dict: "Map", list: "Array", int: "Int", str: "String", bool: "Bool", type(None): "Nil"}


class Totals:
    def __init__(self):
        self.kinds = {}
        self.sums = {}
        self.longest = ""
        self.deepest = 0

    def visit(self, value, path, depth):
        kind = KINDS[type(value)]
        self.kinds[kind] = self.kinds.get(kind, 0) + 1
        self.deepest = max(self.deepest, depth)
        match kind:
            case "Map":
                for key, inner in value.items():
                    self.visit(inner, f"{path}.{key}" if path else key, depth + 1)
            case "Array":
                for inner in value:
                    self.visit(inner, f"{path}[]", depth + 1)
            case "Int":
                self.sums[path] = self.sums.get(path, 0) + value
            case "String":
                if len(value) > len(self.longest):
                    self.longest = value


def cleaned(value):
    if isinstance(value, dict):
        return {key: cleaned(inner) for key, inner in value.items() if inner is not None and key != "secret"}
    if isinstance(value, list):
        return [cleaned(inner) for inner in value if inner is not None]
    if isinstance(value, str):
        return value.strip()
    return value


def order(i):
    return {
        "id": i,
        "customer": {"name": f"  customer {i % 40} ", "secret": f"s{i}", "vip": i % 7 == 0},
        "lines": [
            {"item": f"item {k * i % 9}", "count": k + 1, "price": {"cents": 99 + k * i % 50, "off": None}}
            for k in range(i % 4 + 1)
        ],
        "note": None if i % 3 == 0 else f" leave at door {i % 5}",
        "tags": ["new", None, f"t{i % 6}"],
    }


def dumped(value):
    return json.dumps(value, separators=(",", ":"))


def main(n, emit):
    text = dumped({"orders": [order(i) for i in range(n)], "version": 3})
    document = json.loads(text)
    before = Totals()
    before.visit(document, "", 0)
    clean = cleaned(document)
    after = Totals()
    after.visit(clean, "", 0)
    emit("before", vars(before))
    emit("kinds", after.kinds)
    emit("longest", after.longest)
    emit("letters", [len(text), len(dumped(clean))])
