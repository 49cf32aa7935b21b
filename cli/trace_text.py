"""A recording as a tree of text: tasks, the effects of each, their operations, and what was emitted in between, in the order of
the recording (O-9.22).

Hands on `Text` to `cli/trace.py` and the notebook, and to `cli/trace_page.py` what writes the parts of a row on one line:
`asked_of`, `memory_text`, `duration`, `tokens_text`, `short` and `one_line`. It prints each step as it comes, so a recording of
any length takes no memory; where tasks go on side by side, the heading of a task stands again wherever it goes on. Lines, but for
the table of sums, are cut to the width of the terminal, elsewhere to what `width_of` says, and what is not printable is escaped
everywhere: the texts are those of models and servers. What a recorded result holds is said by the forms in
`runtime/journal/peers.py` (agents and MCP servers) and `runtime/journal/forms.py` (replies).
"""

from __future__ import annotations

import os
import time
import unicodedata

from ..runtime.journal.rows import DONE, INTENT, EffectRow, EmitRow, EndRow, PieceRow
from ..runtime.schema.lenient_json import compact_json
from ..vm.bytecode.disasm import printable
from .terminal import BOLD_RED, GREEN, is_terminal, painted, use_colour
from .trace_rows import list_of, messages_of, number, reason_of, text_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from ..runtime.journal.rows import Header
    from .trace_rows import Reading, Step

WIDTH = 120  # of a line that goes into a file or pipe, unless COLUMNS says another one
LEAST = 40
TIME = 10  # columns of the time before each line
LONGEST = 2_000  # characters of a text that are looked at to make a line of it
DIM, CYAN, BOLD = "\x1b[2m", "\x1b[36m", "\x1b[1m"


class Text:
    """Prints a recording on a stream: `header`, then each `step`, then `end`. `kind` leaves out all rows but those of one kind,
    "" none. `width` is how many columns a line may take, `shown` how many rows were printed."""

    def __init__(self, stream: TextIO, kind: str = "") -> None:
        self.stream = stream
        self.kind = kind
        self.width = width_of(stream)
        self.shown = 0
        self._task: str | None = None
        self._effect: str | None = None
        self._coloured = use_colour(stream)

    # ------------------------------------------------------------ lines

    def line(self, t: float | None, depth: int, text: str, colour: str = "", tail: str = "") -> None:
        """Print a line: a time, `t` in milliseconds, None for none, the text indented by `depth`, and behind it what fits of a
        tail. On a stream with colours the text is in `colour`, an escape sequence, "" for none."""
        head = " " * TIME if t is None else f"{number(t) / 1000:{TIME}.3f}"
        text = "  " * min(depth, 12) + text
        room = self.width - TIME - 2
        shown = cut(text, room).rstrip()
        if tail and columns(shown) + 2 < room:
            tail = cut(f"  {tail}", room - columns(shown))
        else:
            tail = ""
        if self._coloured:
            head = painted(head, DIM, self.stream)
            shown = painted(shown, colour, self.stream) if colour else shown
            tail = painted(tail, DIM, self.stream) if tail else tail
        print(f"{head}  {shown}{tail}".rstrip(), file=self.stream)

    def header(self, header: Header) -> None:
        """Print of which run the recording is."""
        words = [f"run {header.run} of {header.program}"]
        seconds = number(header.wall)
        if 0 < seconds < 1e11:
            words.append(time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(seconds)))
        if header.offline:
            words.append("offline")
        if header.args:
            words.append(f"arguments {compact_json(header.args)}")
        line = one_line("  ".join([*words, f"image {header.image[:12]}"]))
        print(painted(cut(line, self.width), BOLD, self.stream), file=self.stream)

    def step(self, step: Step) -> None:
        """Print a row."""
        row = step.row
        if self.kind:
            if step.kind != self.kind:
                return
        elif type(row) is PieceRow or step.kind == "deliver" or (type(row) is EffectRow and row.status == INTENT):
            return
        self.shown += 1
        if type(row) is EmitRow:
            word = "prints" if row.channel is None else f"{'' if row.by_runtime else 'emit '}{one_line(row.channel)}:"
            self.line(row.t, 0, f"{word} {short(row.value)}", DIM if row.by_runtime else GREEN)
        elif type(row) is EndRow:
            self._end_row(row)
        elif type(row) is EffectRow:
            self._effect_row(step, row)
        else:
            self.line(getattr(row, "t", None), 0, f"{step.kind} {one_line(row.key)} {short(getattr(row, 'text', ''))}")  # type: ignore[union-attr]

    def _end_row(self, row: EndRow) -> None:
        if row.outcome == "ok":
            value = "" if row.value is None else f": {short(row.value)}"
            self.line(row.t, 0, f"end{value}", BOLD)
            return
        code = f"[{one_line(row.code)}]" if row.code else ""
        self.line(row.t, 0, f"{row.outcome}{code}: {one_line(row.message)}", BOLD_RED)

    # ------------------------------------------------------------ effects

    def _effect_row(self, step: Step, row: EffectRow) -> None:
        depth = step.task.count(".")
        if step.task != self._task:
            self._task, self._effect = step.task, None
            self.line(None, depth, f"task {one_line(step.task)}" if step.task else "session", BOLD)
        depth += 1
        label = row.key
        if row.key != step.effect:
            if step.effect != self._effect:
                call = step.facts.get("call", "")
                title = f"{one_line(step.effect)}{f'  call {one_line(call)}' if call else ''}"
                self.line(None, depth, title, CYAN, place_text(step))
            depth += 1
            label = row.key[len(step.effect) :]
        elif step.facts.get("at"):
            self.line(None, depth, place_text(step), DIM)
        self._effect = step.effect
        if "model" in step.facts:
            self._model(step, row, depth, label)
        else:
            self._operation(step, row, depth, label)
        for text in filter(None, map(memory_text, step.facts.get("memory", ()))):
            self.line(None, depth + 1, text, GREEN)

    def _operation(self, step: Step, row: EffectRow, depth: int, label: str) -> None:
        what = f"{one_line(label)} {asked_of(row)}"
        failure = one_line(reason_of(row))
        gave = "" if failure else given_by(row)
        repeated = f"attempt {row.attempt}" if row.attempt > 1 else ""
        tail = "  ".join(word for word in (duration(step.facts.get("ms", 0.0)), repeated) if word)
        self.line(row.t_start, depth, what, "", tail)
        if row.status == INTENT:
            self.line(None, depth + 2, "begins", DIM)
        if gave:
            self.line(None, depth + 2, f"gave {gave}")
        if failure:
            self.line(None, depth + 2, failure, BOLD_RED)

    def _model(self, step: Step, row: EffectRow, depth: int, label: str) -> None:
        facts = step.facts
        words = [f"{one_line(label)} {one_line(facts['model'])} on {one_line(facts['connection'])}"]
        if facts["attempt"] > 1:
            words.append(f"attempt {facts['attempt']}")
        if facts["schema_attempt"] > 1:
            words.append(f"schema attempt {facts['schema_attempt']}")
        self.line(row.t_start, depth, "  ".join(words), BOLD, "  ".join(self._measures(row, facts)))
        self._why(row, facts, depth + 2)
        failure = one_line(reason_of(row))
        if failure:
            self.line(None, depth + 2, failure, BOLD_RED)
        self._reply(row, depth + 2)

    def _measures(self, row: EffectRow, facts: dict[str, Any]) -> list[str]:
        words = [tokens_text(facts["tokens"]), "" if row.cost is None else f"${number(row.cost):.6f}".rstrip("0").rstrip(".")]
        words.append(duration(facts["ms"]))
        if "pieces" in facts:
            words.append(f"{facts['pieces']} pieces, the first after {duration(facts['first_ms']) or '0 ms'}")
        share = "the first of its model"
        if "shared" in facts:
            share = f"{100 * facts['shared'] // max(facts['bytes'], 1)} % as the one before"
        return [word for word in [*words, f"{facts['bytes']} bytes, {share}"] if word]

    def _why(self, row: EffectRow, facts: dict[str, Any], depth: int) -> None:
        """Print how a request differs from the one before, or what it says."""
        why = facts["why"]
        if why == "retry":
            self.line(None, depth, f"again after {duration(facts['after_ms']) or '0 ms'}: {one_line(facts['because'])}")
            return
        if why == "schema":
            if not facts["diff"]:
                self.line(None, depth, "says the same as the attempt before", DIM)
            for line in facts["diff"]:
                self.line(None, depth, one_line(line), {"+": GREEN, "-": BOLD_RED}.get(line[:1], DIM))
            return
        for _, name, text, is_error in facts.get("gave", ()):
            word = "failed" if is_error else "gave"
            self.line(None, depth, f"{one_line(name)} {word} {short(text)}", BOLD_RED if is_error else "")
        if why == "tools":
            return
        if why == "fallback":
            because = one_line(facts["because"])
            self.line(None, depth, f"takes the call over{f': {because}' if because else ''}")
        messages = messages_of(row.request)
        if messages:
            self.line(None, depth, f"{one_line(text_of(messages[-1].get('role')))}: {short(messages[-1].get('content'))}")

    def _reply(self, row: EffectRow, depth: int) -> None:
        result = row.result if isinstance(row.result, dict) and row.status == DONE else {}
        if result.get("thoughts"):
            self.line(None, depth, f"reasons: {short(result['thoughts'])}", DIM)
        calls = list_of(result.get("calls"))
        if row.status == DONE and (result.get("text") or not calls):
            finish = text_of(result.get("finish"))
            tail = "" if finish == "stop" else f"({one_line(finish)})"
            self.line(None, depth, f"reply: {short(result.get('text', ''))}", "", tail)
        for call in calls:
            if isinstance(call, list) and len(call) >= 3:  # id, name, arguments (null if they are no object), their text
                arguments = call[2] if call[2] is not None else call[-1]
                self.line(None, depth, f"calls {one_line(text_of(call[1]))} {short(arguments)}", CYAN)

    # ------------------------------------------------------------ sums

    def end(self, reading: Reading, has_end: bool) -> None:
        """Print what is left to say when the recording is at its end."""
        for key, row in reading.unsettled.items():
            what = f"{one_line(key)} {asked_of(row)}"
            self.line(row.t_start, 0, f"{what}: has begun, and its outcome is not in the recording", BOLD_RED)
        if not has_end:
            self.line(None, 0, "the recording has no end: the run goes on, waits, or was killed", BOLD_RED)
        if not reading.models:
            return
        names = ("requests", "failed", "retried", "schema", "in", "cached", "out", "reasoning", "cost", "time", "as before")
        table: list[tuple[str, ...]] = [("", *names)]
        for sums in reading.models.values():
            s = sums.sums
            counts = [f"{int(s[name]):,}" for name in names[:8]]
            cost = f"${s['cost']:.4f}" if s["priced"] else "–"
            share = f"{100 * s['shared'] // s['bytes']:.0f} %" if s["bytes"] else "–"
            name = one_line(f"{sums.model} on {sums.connection}")
            table.append((cut(name, 40), *counts, cost, duration(s["ms"]) or "0 ms", share))
        widths = [max(columns(row[at]) for row in table) for at in range(len(table[0]))]
        print(file=self.stream)
        for number_of, cells in enumerate(table):
            first = cells[0] + " " * (widths[0] - columns(cells[0]))
            rest = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
            line = "  ".join([first, *rest])
            print(painted(line, DIM, self.stream) if number_of == 0 else line, file=self.stream)


# ---------------------------------------------------------------- what an operation is


def asked_of(row: EffectRow) -> str:
    """Return what an operation asked for, on one line."""
    request = row.request if isinstance(row.request, dict) else {}

    def get(name: str) -> str:
        return one_line(text_of(request.get(name)))

    if row.kind == "mcp":
        what = get("tool") or get("uri") or get("prompt")
        arguments = short(request["arguments"]) if "arguments" in request else ""
        return " ".join(word for word in ("mcp", get("server"), get("method"), what, arguments) if word)
    if row.kind == "agent":
        return " ".join(word for word in ("agent", get("agent"), get("method"), short(request.get("text", ""))) if word)
    if row.kind == "embed":
        texts = request.get("texts")
        return f"embed {get('model')} on {get('connection')}, {count_of(texts, 'text')}"
    if row.kind == "wait":
        return f"waits {get('seconds')} s"
    if row.kind == "answer":
        return f"asks {get('channel')} {short(request.get('value'))}"
    if row.kind == "tool":
        others = {name: value for name, value in request.items() if name not in ("tool", "method")}
        arguments = others.get("args", others.get("arguments", others))
        return f"tool {get('tool')}.{get('method')} {short(arguments)}"
    if row.kind == "limit":
        return "limit of time"
    parts = row.request if isinstance(row.request, list) else [row.request]
    return " ".join([one_line(row.kind), *(short(part) for part in parts if part is not None)])


def place_text(step: Step) -> str:
    """Return where in the source the effect of a row stands, with the line; "" where that is not known."""
    if "at" not in step.facts:
        return ""
    file, line, _ = step.facts["at"]
    return one_line(f"{file}:{line}  {step.facts['line']}".rstrip())


def memory_text(told: dict[str, Any]) -> str:
    """Return an event of a memory on one line, "" for a step of a run, whose reply is in its request."""
    event, key = told["event"], list_of(told.get("key"))
    if event == "step":
        return ""
    parts = [text_of(part) for part in key[2:] if part not in ("", "main")]  # behind the program and the memory
    of_key = f" ({', '.join(parts)})" if parts else ""
    name = f"memory {text_of(told.get('memory'))}{of_key}"
    seqs = ", ".join(text_of(seq) for seq in list_of(told.get("seqs")))
    messages = f"message{'s' if ', ' in seqs else ''} {seqs}"
    if event == "commit":
        return one_line(f"{name} keeps {messages} as turn {short(told.get('turn'))}, {short(told.get('tokens'))} tokens")
    if event == "evict":
        return one_line(f"{name} lets go of {messages} ({text_of(told.get('reason'))})")
    rest = "  ".join(f"{other} {short(told[other])}" for other in told if other not in ("event", "memory", "key", "run"))
    return one_line(f"{name} {event}  {rest}".rstrip())


def given_by(row: EffectRow) -> str:
    """Return what an operation gave, on one line; "" for nothing."""
    result = row.result
    if row.kind == "embed" and isinstance(result, list):
        return count_of(result, "vector")
    if row.kind == "agent" and isinstance(result, list) and len(result) == 4:
        result = result[1] or result[0]  # of value, name of the failure or null, exit code, stderr
    if isinstance(result, dict):
        for name in ("value", "json", "error", "failure"):
            if name in result and len(result) <= 2:
                word = "" if name in ("value", "json") else f"{name} "
                return f"{word}{_value_text(result[name], row)}"
        if result.keys() == {"rows"}:
            return _value_text(result, row)
    return "" if result is None else short(result)


def _value_text(value: Any, row: EffectRow) -> str:
    if isinstance(value, dict) and value.keys() == {"rows"}:  # a value of the machine as snapshots have it: its texts
        return ", ".join(one_line(text) for text in texts_in(value["rows"])) or "a value without texts"
    if row.kind == "mcp" and isinstance(value, list):
        method = row.request.get("method") if isinstance(row.request, dict) else ""
        if method == "tools/call" and len(value) == 4 and isinstance(value[1], list):
            # structured content, texts, whether it failed, media
            media = count_of(value[3], "part") + " of media" if value[0] is None and value[3] else ""
            texts = " ".join(map(short, value[1])) or media or short(value[0])
            return f"failed: {texts}" if value[2] is True else texts
        if method == "tools/list":
            return ", ".join(short(tool[0]) for tool in value if isinstance(tool, list) and tool)
    return short(value)


def texts_in(plain: Any, most: int = 20) -> list[str]:
    """Return the texts in plain data, in order, up to so many."""
    found: list[str] = []
    waiting = [plain]
    while waiting and len(found) < most:
        part = waiting.pop()
        if isinstance(part, str):
            found.append(part)
        elif isinstance(part, list):
            waiting += reversed(part)
        elif isinstance(part, dict):
            waiting += reversed(list(part.values()))
    return found


def count_of(items: Any, word: str) -> str:
    """Return how many items there are, with the word for one of them."""
    count = len(items) if isinstance(items, list) else 0
    return f"{count} {word}{'' if count == 1 else 's'}"


# ---------------------------------------------------------------- texts


def duration(milliseconds: float) -> str:
    """Return a time as people read it, "" for less than half a millisecond."""
    if milliseconds < 0.5:
        return ""
    if milliseconds < 1000:
        return f"{milliseconds:.0f} ms"
    if milliseconds < 120_000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds / 60_000:,.1f} min"


def tokens_text(tokens: dict[str, int]) -> str:
    """Return the tokens of a reply, "" for none."""
    if not tokens:
        return ""
    cached = [f"{tokens[name]:,} {word}" for name, word in (("cached", "cached"), ("cache_write", "written")) if name in tokens]
    came = f" ({', '.join(cached)})" if cached else ""
    reasoning = f" ({tokens['reasoning']:,} reasoning)" if "reasoning" in tokens else ""
    return f"{tokens['in']:,} in{came}, {tokens['out']:,} out{reasoning}"


def short(value: Any) -> str:
    """Return plain data on one line, as `one_line`: a text as it is, anything else as JSON."""
    return one_line(value[:LONGEST] if isinstance(value, str) else text_of(value) if value is not None else "null")


def one_line(text: str) -> str:
    """Return the first LONGEST characters of a text without line ends, and with what could move the cursor escaped."""
    return printable(text[:LONGEST].replace("\n", "⏎"))


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def cut(text: str, width: int) -> str:
    """Return a text that takes so many columns at most; one that is cut ends in an ellipsis."""
    if columns(text) <= width:
        return text
    shown, room = "", width - 1
    for c in text[: 2 * width]:
        room -= columns(c)
        if room < 0:
            break
        shown += c
    return f"{shown}…"


def width_of(stream: TextIO) -> int:
    """Return the width of lines on a stream in columns, at least LEAST: of a terminal its own, elsewhere what COLUMNS says, or
    WIDTH."""
    if is_terminal(stream):
        import shutil

        return max(shutil.get_terminal_size().columns, LEAST)
    said = os.environ.get("COLUMNS", "")
    return max(int(said), LEAST) if said.isdecimal() and len(said) < 6 else WIDTH
