"""A recording as one page for a browser, which needs nothing else: no network, no server, no other file (O-9.80).

Hands on `write_page` to `cli/trace.py`, `cli/view.py` and the notebook, to the second `own_style` too. The page is what stands in
the folder `page/`, with the recording in it as blocks of JSON that its script reads when they are needed. Messages that several
requests have are in it once. Nothing of the recording can become markup or script: `<`, `>` and `&` are written as escapes of
JSON, and the policy of the page runs only the scripts that it was written with.
"""

from __future__ import annotations

import hashlib
import html
import json
import os
import time
from array import array
from base64 import b64encode
from functools import partial

from ..runtime.journal.forms import canonical
from ..runtime.journal.rows import DONE, INTENT, EffectRow, EmitRow, EndRow, PieceRow
from . import exits
from .trace_rows import Reading, json_of, list_of, messages_of, number, reason_of, text_of
from .trace_text import asked_of, duration, memory_text, one_line, short, tokens_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TextIO

    from .trace_program import Known
    from .trace_rows import Step
    from .trace_source import Recording

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "page")
ROWS = 250  # of a block at most
BLOCK = 1 << 18  # characters of a block, beyond which the next one begins
TITLE = 160  # characters of a line of the list
FAILED, AGAIN, EFFECT, INNER, BY_RUNTIME = 1, 2, 4, 8, 16  # flags of a row, as trace.js has them
# How the page draws a kind of row: places in GROUPS of trace.js (emit, quiet, model, tool, wait, other).
GROUPS = {"emit": 0, "print": 0, "model": 2, "embed": 2, "tool": 3, "mcp": 3, "agent": 3, "wait": 4, "answer": 4, "limit": 4}
QUIET, OTHER = 1, 5
SHARED = ("tools", "hosted", "schema", "params")  # of a request to a model, besides its messages


def write_page(path: str, recording: Recording, known: Known | None = None, *, following: bool = False) -> None:
    """Write the page of a recording to a file, in place of what is there, once it is whole; `known` is what a program says of it,
    None without one; with `following` the page asks the server that it comes from for more. Raise `Exit` (1) where it cannot be
    written, and what reading the recording raises."""
    from .compile import is_device

    beside = path if is_device(path) else f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "w", encoding="utf-8", newline="\n") as file:
            _Page(file).write(recording, known, template(following))
        if beside != path:
            os.replace(beside, path)
    except OSError as error:
        raise exits.Exit(exits.FAILED, f"cannot write {path}: {error.strerror or error}") from None
    finally:
        if beside != path and os.path.exists(beside):
            os.remove(beside)


def template(following: bool = False) -> list[str]:
    """Return the page in front of the data and behind it, with `%TITLE%` in the first part. With `following` it asks the server
    that it comes from whether there is more, and else nobody."""
    texts = {name: _source(f"trace.{name}") for name in ("html", "css", "js")}
    scripts = [texts["js"], *([_source("follow.js")] if following else [])]
    own = f"style-src {_hash(texts['css'])}; script-src {' '.join(map(_hash, scripts))}"
    asks = "; connect-src 'self'" if following else ""
    policy = f"default-src 'none'; {own}{asks}; base-uri 'none'; form-action 'none'"
    page = texts["html"].replace("%POLICY%", policy)
    before, after = page.replace("%STYLE%", texts["css"]).split("%DATA%")
    return [before, after.replace("%SCRIPT%", "</script>\n<script>".join(scripts))]


def own_style() -> tuple[str, str]:
    """Return the style of the page, and the policy of another page that has it and no script."""
    style = _source("trace.css")
    return style, f"default-src 'none'; style-src {_hash(style)}; base-uri 'none'; form-action 'none'"


def _source(name: str) -> str:
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read()


def _hash(text: str) -> str:
    return f"'sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def data_text(plain: Any) -> str:
    """Return plain data as JSON that can stand in a page."""
    text = json_of(plain)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair of surrogates
        text = json_of(plain, partial(json.dumps, ensure_ascii=True, allow_nan=False, separators=(",", ":")))
    for character in "<>&\u2028\u2029":
        if character in text:
            text = text.replace(character, f"\\u{ord(character):04x}")
    return text


class _Blocks:
    """Blocks of one letter: `add` puts the text of an entry into the last one, and `flush` hands that to `write`, with its id in
    the page; one that `is_full` is to be flushed. `firsts` are the numbers of the entries with which blocks begin, `count` how
    many entries there are."""

    def __init__(self, letter: str, write: Callable[[str, str], object]) -> None:
        self.letter = letter
        self.write = write
        self.firsts: list[int] = []
        self.count = 0
        self._texts: list[str] = []
        self._size = 0

    def add(self, text: str) -> None:
        if not self._texts:
            self.firsts.append(self.count)
        self._texts.append(text)
        self._size += len(text)
        self.count += 1

    @property
    def is_full(self) -> bool:
        return len(self._texts) >= ROWS or self._size >= BLOCK

    def flush(self) -> None:
        if self._texts:
            self.write(f"{self.letter}{len(self.firsts) - 1}", "[" + ",\n".join(self._texts) + "]")
            self._texts, self._size = [], 0


class _Columns:
    """What the page needs of every row at once, for the rows of one block: when it began and ended, in milliseconds, the numbers
    of its task and kind, and its flags."""

    __slots__ = ("t0", "t1", "task", "kind", "flags")

    def __init__(self) -> None:
        self.t0, self.t1, self.task, self.kind, self.flags = array("d"), array("d"), array("l"), array("l"), array("B")

    def as_json(self) -> dict[str, list[float]]:
        return {name: list(getattr(self, name)) for name in self.__slots__}


class _Page:
    """Writes a page as the recording is read: of that nothing is kept but what the page has once, the digests of shared parts and
    the names of tasks and kinds."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.rows = _Blocks("r", self._block)
        self.parts = _Blocks("p", self._block)
        self.columns = _Columns()
        self._known: dict[bytes, int] = {}
        self._tasks: dict[str, int] = {}
        self._kinds: dict[str, int] = {}
        self._groups: list[int] = []

    def _block(self, id: str, text: str) -> None:
        self.file.write(f'<script type="application/json" id="{id}">{text}</script>\n')

    def write(self, recording: Recording, known: Known | None, parts: list[str]) -> None:
        """Write the page of a recording; `parts` are those of the template."""
        header = recording.header
        before, after = parts
        title = html.escape(one_line(f"Run {header.run} of {header.program}"))
        self.file.write(before.replace("%TITLE%", title))
        reading = Reading(known)
        ended = "no end: the run goes on, waits, or was killed"
        for step in reading.steps(recording):
            self._row(step)
            if isinstance(step.row, EndRow):
                ended = end_text(step.row)
            if self.rows.is_full:
                self._flush()
        self._flush()
        self.parts.flush()
        self._block("head", data_text(self._head(recording, reading, ended)))
        self.file.write(after)

    def _flush(self) -> None:
        if self.columns.t0:
            self._block(f"s{len(self.rows.firsts) - 1}", data_text(self.columns.as_json()))
            self.columns = _Columns()
        self.rows.flush()

    def _head(self, recording: Recording, reading: Reading, ended: str) -> dict[str, Any]:
        header = recording.header
        words = [ended, duration(reading.last) or "0 ms"]
        seconds = number(header.wall)
        if 0 < seconds < 1e11:
            words.append(time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)))
        words += ["offline"] if header.offline else []
        words += [f"image {header.image[:12]}", f"seed {header.seed}"]
        words += [f"arguments {short(header.args)}"] if header.args else []
        if reading.unsettled:
            words.append(f"begun, and without an outcome: {', '.join([*reading.unsettled][:20])}")
        sums = reading.as_json()
        return {
            "about": " · ".join(map(one_line, words)), "rows": reading.rows, "ms": sums["ms"], "models": sums["models"],
            "tasks": list(self._tasks), "kinds": list(self._kinds), "groups": self._groups, "blocks": self.rows.firsts,
            "parts": self.parts.firsts, "sources": {} if reading.known is None else reading.known.sources,
        }  # fmt: skip

    def _row(self, step: Step) -> None:
        row, columns = step.row, self.columns
        flags = 0
        if type(row) is EffectRow:
            begin = number(row.t_start)
            times = begin, max(number(row.t_end), begin)
            entry = self._effect(step, row)
            flags = EFFECT | (FAILED if step.is_failure else 0) | (INNER if row.status == INTENT else 0)
            flags |= AGAIN if step.facts.get("why") in ("retry", "schema") else 0
        else:
            times = number(getattr(row, "t", 0.0)), number(getattr(row, "t", 0.0))
            entry = _other(step)
            flags = INNER | BY_RUNTIME if step.kind in ("piece", "deliver") else 0
            flags |= BY_RUNTIME if isinstance(row, EmitRow) and row.by_runtime else 0
            flags |= FAILED if isinstance(row, EndRow) and row.outcome != "ok" else 0
        columns.t0.append(times[0])
        columns.t1.append(times[1])
        columns.task.append(self._tasks.setdefault(_lane(step.task), len(self._tasks)))
        if step.kind not in self._kinds:
            self._kinds[step.kind] = len(self._kinds)
            self._groups.append(GROUPS.get(step.kind, QUIET if step.kind in ("piece", "deliver") else OTHER))
        columns.kind.append(self._kinds[step.kind])
        columns.flags.append(flags)
        self.rows.add(data_text(entry))

    def _effect(self, step: Step, row: EffectRow) -> dict[str, Any]:
        facts = step.facts
        entry: dict[str, Any] = {"key": row.key, "s": row.status, "r": row.result}
        failure = reason_of(row)
        if failure:
            entry["failure"] = failure
        if row.cost is not None:
            entry["cost"] = number(row.cost)
        if "at" in facts:
            entry["at"] = facts["at"]
        told = [text for text in map(memory_text, facts.get("memory", ())) if text]
        if told:
            entry["memory"] = told
        if "model" not in facts:
            entry["q"] = row.request
            entry["title"] = one_line(asked_of(row))[:TITLE]
            entry["meta"] = duration(facts.get("ms", 0.0))
            return entry
        entry["f"] = {name: value for name, value in facts.items() if name not in NOT_FACTS}
        entry["tokens"] = tokens_text(facts["tokens"])
        entry["q"] = {"messages": [self._part(step.n, message) for message in messages_of(row.request)]}
        entry["q"].update({name: self._part(step.n, row.request[name]) for name in SHARED if row.request.get(name)})
        attempts = "".join(f", {word} {facts[name]}" for name, word in ATTEMPTS if facts[name] > 1)
        result = row.result if isinstance(row.result, dict) and row.status == DONE else {}
        said = failure or short(result.get("text", ""))
        calls = [call for call in list_of(result.get("calls")) if isinstance(call, list) and len(call) > 1]
        names = [f"calls {text_of(call[1])}" for call in calls]
        entry["title"] = one_line(f"{facts['model']}{attempts}: {' '.join([said, *names])}")[:TITLE]
        counted = {name: facts["tokens"][name] for name in ("in", "out") if name in facts["tokens"]}
        entry["meta"] = "  ".join(word for word in (tokens_text(counted), duration(facts["ms"])) if word)
        return entry

    def _part(self, n: int, part: Any) -> int:
        """Return the number of a part that requests share."""
        digest = hashlib.sha256(canonical(part).encode("utf-8", "surrogatepass")).digest()[:16]
        number_of = self._known.get(digest)
        if number_of is None:
            number_of = self._known[digest] = self.parts.count
            self.parts.add(data_text([n, part]))
            if self.parts.is_full:
                self.parts.flush()
        return number_of


NOT_FACTS = ("diff", "gave", "tokens", "at", "line", "memory")  # of a step, which the page makes itself or has elsewhere
ATTEMPTS = (("attempt", "attempt"), ("schema_attempt", "schema attempt"))


def _lane(task: str) -> str:
    """Return the task that a row is drawn for, "" for what is no path of numbers."""
    return task if task and all(part.isdecimal() and part.isascii() and len(part) < 10 for part in task.split(".")) else ""


def _other(step: Step) -> dict[str, Any]:
    """Return the entry of a row that is no effect."""
    row = step.row
    if isinstance(row, EmitRow):
        word = "prints" if row.channel is None else f"{row.channel}:"
        entry: dict[str, Any] = {"title": one_line(f"{word} {short(row.value)}")[:TITLE], "v": row.value}
        if row.channel is not None:
            entry["channel"] = row.channel
        return entry
    if isinstance(row, EndRow):
        value = {"outcome": row.outcome, "message": row.message, "value": row.value}
        return {"title": one_line(end_text(row))[:TITLE], "v": value}
    if isinstance(row, PieceRow):
        return {"title": f"piece {short(row.text)}"[:TITLE], "key": row.key, "v": row.text}
    return {"title": one_line(f"delivered {row.key}")[:TITLE], "key": row.key}


def end_text(row: EndRow) -> str:
    """Return how a run ended, in words."""
    if row.outcome == "ok":
        return "ended well"
    return f"{row.outcome}{f'[{row.code}]' if row.code else ''}: {row.message}"
