"""What a notebook shows of a run besides its output: the table of its calls, and the page of its recording.

Hands on `CallTable` and `TracePage` to the magics. Each has a text for plain IPython (`repr`) and HTML for a notebook
(`_repr_html_`). What follows from a recording is for `cli/trace_rows.py`, the page for `cli/trace_page.py`; nothing is displayed
here. Making either raises JournalRefused and `Exit` as `Recording` of `cli/trace_source.py`, a `TracePage` also `Exit` (66) where
the page cannot be written beside it.
"""

from __future__ import annotations

import html
import io
import os

from ..cli.trace_page import write_page
from ..cli.trace_rows import Reading
from ..cli.trace_source import Recording
from ..cli.trace_text import Text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

HEADS = ("model", "calls", "tokens in", "tokens out", "cost")
HEIGHT = 640  # of the page, in pixels


class CallTable:
    """The requests of a run by model and connection, from `recording`, the path of its effect file: `rows` has the texts of HEADS
    for each pair, without the connection. False if there were none."""

    def __init__(self, recording: str) -> None:
        reading = _read(recording, Reading())
        self.rows = [_row(sums) for sums in reading.as_json()["models"]]

    def __bool__(self) -> bool:
        return bool(self.rows)

    def __repr__(self) -> str:
        table = [HEADS, *self.rows]
        widths = [max(len(row[at]) for row in table) for at in range(len(HEADS))]
        return "\n".join("  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in table)

    def _repr_html_(self) -> str:
        lines = [HEADS, *self.rows]
        cells = ["".join(f"<td>{html.escape(cell)}</td>" for cell in line) for line in lines]
        head = cells[0].replace("td>", "th>")
        body = "".join(f"<tr>{row}</tr>" for row in cells[1:])
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _row(sums: dict[str, Any]) -> tuple[str, ...]:
    """Return a line of the table. The cost is that of requests with a price; one without any has none."""
    counts = (f"{sums[name]:.0f}" for name in ("requests", "in", "out"))
    return (str(sums["model"]), *counts, f"{sums['cost']:.6f}".rstrip("0").rstrip(".") if sums["priced"] else "")


class TracePage:
    """What a run did, as `concerto trace` shows it: `page` in a notebook, `text` elsewhere. `recording` is the path of its effect
    file, beside which the page is written for a moment."""

    def __init__(self, recording: str) -> None:
        self._path = f"{recording}.html"
        source = Recording(recording, None)
        try:
            write_page(self._path, source)
        finally:
            source.close()
        with open(self._path, encoding="utf-8") as file:
            self.page = file.read()
        os.remove(self._path)
        stream = io.StringIO()
        text, reading = Text(stream), Reading()
        _read(recording, reading, text)
        self.text = stream.getvalue().rstrip("\n")

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        frame = f'sandbox="allow-scripts" style="width:100%;height:{HEIGHT}px;border:1px solid #ccc"'
        return f'<iframe {frame} srcdoc="{html.escape(self.page)}"></iframe>'


def _read(path: str, reading: Reading, text: Text | None = None) -> Reading:
    """Read a recording to its end; `text` prints it meanwhile."""
    recording = Recording(path, None)
    try:
        if text is not None:
            text.header(recording.header)
        for step in reading.steps(recording):
            if text is not None:
                text.step(step)
        if text is not None:
            text.end(reading, recording.has_end)
    finally:
        recording.close()
    return reading
