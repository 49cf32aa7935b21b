"""Two settings compared: what was added, removed and changed; the changes applied, and taken back again."""


class Refused(Exception):
    pass


def settings(number):
    out = {f"key{k}": f"v{(number * 3 + k) // 20}" for k in range(30) if (number + k * k) % 6 != 0}
    out["round"] = f"{number}"
    return out


def diff(old, new):
    out = {}
    for key, value in new.items():
        before = old.get(key)
        if before is None:
            out[key] = ("+", None, value)
        elif before != value:
            out[key] = ("~", before, value)
    for key, value in old.items():
        if key not in new:
            out[key] = ("-", value, None)
    return out


INVERSE = {"+": "-", "-": "+", "~": "~"}


def inverted(changes):
    return {key: (INVERSE[sign], new, old) for key, (sign, old, new) in changes.items()}


def patched(settings, changes):
    out = dict(settings)
    for key, (sign, old, new) in changes.items():
        if sign == "+":
            out[key] = new
        elif sign == "-":
            out.pop(key, None)
        elif out.get(key) != old:
            raise Refused(f"{key} is not {old}")
        else:
            out[key] = new
    return out


def main(n, emit):
    signs = {}
    refused = 0
    last = ""
    for i in range(n):
        old = settings(i)
        new = settings(i + 1)
        changes = diff(old, new)
        there = patched(old, changes)
        assert there == new and patched(there, inverted(changes)) == old
        try:
            patched(settings(i + 2), changes)
        except Refused:
            refused += 1
        for sign, _, _ in changes.values():
            signs[sign] = signs.get(sign, 0) + 1
        last = " ".join(change[0] + key for key, change in changes.items())
    emit("signs", signs)
    emit("refused", refused)
    emit("last", last)
