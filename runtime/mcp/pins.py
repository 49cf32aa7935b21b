"""Tools of MCP servers as a person has seen and accepted them: pins, which outlive a session (G-9.6).

Hands on `Pins` with `read_pins`, which raises `PinsRefused`, to hosts (command line, API, `runtime/host.py`), which keep them in
a file (FILE, in the folder of a project); `Pin`, `pinned` and `refused_by` to `servers.py`, and `Pin`, `written_pins` and
`difference` to the command that pins (`cli/pin.py`). A pin has the digest of all that a tool says of itself, which decides, and
the parts, which tell what has changed. Nothing here opens a file.
"""

from __future__ import annotations

import json

from .served import tool_digest

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import Any

    from .served import ServedTool

    Pins = Mapping[str, Mapping[str, "Pin"]]  # by server and tool

FILE = "Concerto.pins.json"  # in the folder of a project
FORMAT = 1
AGAIN = "remove the file, and `concerto pin` writes it anew"  # it writes over none that it cannot compare with
MOST_LINES = 8  # of a difference
LONGEST_PART = 120  # code points of a value in it


class PinsRefused(Exception):
    """A text that holds no pins, with the place and the reason."""


class Pin:
    """One tool as it was accepted: its `description`, and in `schema` the JSON Schema of its arguments. `digest` is that of
    `ServedTool`, hexadecimal. Raises ValueError for parts that no JSON has (NaN, a lone surrogate)."""

    __slots__ = ("description", "schema", "digest")

    def __init__(self, name: str, description: str, schema: dict[str, Any]) -> None:
        self.description = description
        self.schema = schema
        self.digest = tool_digest(name, description, schema)


def pinned(tools: Iterable[ServedTool]) -> dict[str, Pin]:
    """Return pins of tools, by name. One that nobody may call has none, and of several of one name the first counts."""
    pins: dict[str, Pin] = {}
    for tool in tools:
        if tool.refused is None:
            pins.setdefault(tool.name, Pin(tool.name, tool.description, tool.schema))
    return pins


def refused_by(pins: Mapping[str, Pin], tool: ServedTool) -> str | None:
    """Return why a tool is not the one that was pinned, with what has changed, or that it is not pinned; None if it is that one.
    `pins` are those of its server, by tool."""
    pin = pins.get(tool.name)
    if pin is None:
        return "it is not pinned; `concerto pin` accepts it"
    if pin.digest == tool.digest:
        return None
    return f"it is another one than was pinned; `concerto pin` accepts it:\n{chr(10).join(difference(pin, tool))}"


def difference(old: Pin, new: Pin | ServedTool) -> list[str]:
    """Return what has changed of a tool, a line `- PLACE: OLD is now NEW` for each part that differs, at most MOST_LINES and one
    that says that there is more. A value is JSON of at most LONGEST_PART code points, and `…` where it is cut."""
    before, now = [{"description": one.description, "schema": one.schema} for one in (old, new)]
    lines: list[str] = []
    for place, was, is_now in _changes("", before, now):
        if len(lines) == MOST_LINES:
            return [*lines, "- and more"]
        lines.append(f"- {place}: {_short(was)} is now {_short(is_now)}")
    return lines


ABSENT = object()


def _changes(place: str, before: Any, now: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield place, old and new value of each part that differs, in the order of the old one."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in (*before, *(key for key in now if key not in before)):
            inner = f"{place}.{key}" if place else key
            yield from _changes(inner, before.get(key, ABSENT), now.get(key, ABSENT))
        return
    if isinstance(before, list) and isinstance(now, list) and len(before) == len(now):
        for index, (old, new) in enumerate(zip(before, now, strict=True)):
            yield from _changes(f"{place}[{index}]", old, new)
        return
    if _differs(before, now):
        yield place, before, now


def _differs(before: Any, now: Any) -> bool:
    """Return whether two values differ as JSON, where 1, 1.0 and true are three values."""
    if before is ABSENT or now is ABSENT:
        return before is not now
    return json.dumps(before) != json.dumps(now)


def _short(value: Any) -> str:
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= LONGEST_PART else f"{text[:LONGEST_PART]}…"


# ----------------------------------------------------------------
# The text of a file.


def written_pins(pins: Pins) -> str:
    """Return the text that `read_pins` reads, the same for the same pins in whatever order of servers and tools; the fields of
    schemas stay in theirs."""
    servers = {
        server: {
            name: {"sha256": pin.digest, "description": pin.description, "schema": pin.schema}
            for name, pin in sorted(tools.items())
        }
        for server, tools in sorted(pins.items())
    }  # fmt: skip
    return json.dumps({"format": FORMAT, "servers": servers}, indent=2, ensure_ascii=False) + "\n"


def read_pins(text: str) -> Pins:
    """Return the pins of a text. Raises PinsRefused for one that holds none: no JSON, of another form, or with a tool that is not
    what its digest says."""
    try:
        table = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PinsRefused(f"it is no JSON: {error}; {AGAIN}") from None
    if not isinstance(table, dict) or set(table) != {"format", "servers"} or not isinstance(table["servers"], dict):
        raise PinsRefused(f"it is no file of pins; {AGAIN}")
    if table["format"] != FORMAT:
        raise PinsRefused(f"its format is {table['format']!r}, this version reads {FORMAT}")
    return {server: _read_server(server, tools) for server, tools in table["servers"].items()}


def _read_server(server: str, tools: Any) -> dict[str, Pin]:
    if not isinstance(tools, dict):
        raise PinsRefused(f"servers.{server} is no table of tools; {AGAIN}")
    return {name: _read_tool(f"servers.{server}.{name}", name, row) for name, row in tools.items()}


def _read_tool(place: str, name: str, row: Any) -> Pin:
    kinds = {"sha256": str, "description": str, "schema": dict}
    if not isinstance(row, dict) or {key: type(value) for key, value in row.items()} != kinds:
        raise PinsRefused(f"{place} is no tool: it has {', '.join(kinds)}; {AGAIN}")
    try:
        pin = Pin(name, row["description"], row["schema"])
    except ValueError:  # NaN, or half a character
        raise PinsRefused(f"{place} holds what no server can say; {AGAIN}") from None
    if pin.digest != row["sha256"]:
        raise PinsRefused(f"{place} is not what its sha256 says; {AGAIN}")
    return pin
