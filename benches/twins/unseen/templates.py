"""Templates parsed into pieces once, then filled from dicts; unknown names are reported."""


class Refused(Exception):
    pass


def parse(template):
    pieces = []
    rest = template
    while True:
        at = rest.find("{{")
        if at < 0:
            pieces.append(("text", rest))
            return pieces
        pieces.append(("text", rest[:at]))
        close = rest.find("}}")
        if close < 0:
            raise Refused("no closing braces")
        name = rest[at + 2 : close].strip()
        if name.startswith("^"):
            pieces.append(("upper", name[1:]))
        else:
            pieces.append(("name", name))
        rest = rest[close + 2 :]


def look_up(values, name):
    try:
        return values[name]
    except KeyError:
        raise Refused(f"unknown: {name}") from None


def fill(pieces, values):
    out = ""
    for kind, text in pieces:
        if kind == "text":
            out += text
        elif kind == "name":
            out += look_up(values, text)
        else:
            out += look_up(values, text).upper()
    return out


def main(n, emit):
    letter = parse("Dear {{ name }},\nyour order {{order}} of {{^product }} for {{ price }} is {{state}}.\n")
    note = parse("{{ name }}: {{ missing }}")
    states = ["sent", "packed", "late"]
    letters = failures = 0
    last = ""
    for i in range(n):
        values = {
            "name": f"Customer {i}",
            "order": f"#{i * 3}",
            "product": f"pen {i % 9}",
            "price": f"{i % 90}.50",
            "state": states[i % 3],
        }
        last = fill(letter, values)
        letters += len(last)
        try:
            fill(note, values)
        except Refused as e:
            failures += len(str(e))
    emit("letters", letters)
    emit("failures", failures)
    emit("last", last)
