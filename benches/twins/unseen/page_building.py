"""Pages of HTML built from records: escaping, nested lists, attributes, string by string."""

from dataclasses import dataclass


@dataclass(slots=True)
class Entry:
    title: str
    tags: list
    views: int


def escaped(text):
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def element(name, body, attributes=None):
    out = "<" + name
    for key, value in (attributes or {}).items():
        out += f' {key}="{escaped(value)}"'
    out += ">" + body + "</" + name + ">"
    return out


def row(entry):
    tags = "".join([element("li", escaped(tag)) for tag in entry.tags])
    kind = "hot" if entry.views > 500 else "cold"
    body = element("h2", escaped(entry.title)) + element("ul", tags)
    return element("article", body, {"class": kind, "data-views": str(entry.views)})


def main(n, emit):
    entries = [Entry(f"Entry <{i}> & more", [f"t{i % 4}", "a<b", f"c{i % 9}"], i * 31 % 1000) for i in range(n)]
    page = ""
    for entry in entries:
        page += row(entry) + "\n"
    emit("letters", len(page))
    emit("start", page[:140])
    emit("hot", len(page.split('"hot"')) - 1)
