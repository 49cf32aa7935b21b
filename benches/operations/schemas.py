"""V-8.10 and V-8.11: what schema retries add to a request, and tolerant extraction of JSON."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from concerto.runtime.connections import resolve_all
from concerto.runtime.records import Reply, Request
from concerto.runtime.schema.extraction import extract

from ..execution import Concerto, require
from ..figures import Figure, Target
from ..sampling import Plan, interleave
from .memories import Wire

GROWTH = Target("V-8.10", 1.6)
EXTRACTION = Target("V-8.11", 5)
LINEAR = Target("V-8.11", 1.5)

PROGRAM = """\
schema Ticket {
    title: String,
    kind: "bug" | "task" | "question",
    urgent: Bool,
    tags: Array<String>,
}

@retry(max: 4)
model Sorter {
    provider: openai,
    base: "gpt-5.4-mini",
    system_prompt: "You sort support mail.",
}

fn main() {
    let mail = "MAIL";
    match Sorter.execute_with_schema<Ticket>(mail) {
        Ok(ticket) => emit("title", ticket.title),
        Err(error) => emit("failed", "${error}"),
    }
}
"""
MAIL = "Since Monday the export button closes the app, on two machines here. I need the report by noon. " * 10
GOOD = {"title": "Export closes the app", "kind": "bug", "urgent": True, "tags": ["export"]}
BAD = ["I cannot say. " * 100, '{"title": 3, "kind": "wish", "urgent": "yes"}', '{"title": "Export", "kind": "bug"']


class Recording(Wire):
    """Gives the replies in turn and notes the bytes of each request."""

    def __init__(self, connection: Any, replies: list[str]) -> None:
        super().__init__(connection)
        self.replies = list(replies)
        self.bytes: list[int] = []

    async def send(self, request: Request) -> Reply:
        self.bytes.append(len(json.dumps(self.lower(request), ensure_ascii=False).encode()))
        return Reply(self.replies.pop(0))


def retry_growth(plan: Plan) -> list[Figure]:
    """The fourth request over the first, after three replies that are long, of other types, and cut off."""
    recording = Recording(resolve_all([])["openai"], [*BAD, json.dumps(GOOD)])
    program = Concerto(PROGRAM.replace("MAIL", MAIL), provider=lambda name: recording)
    require(program.output(), ['title "Export closes the app"'])
    require(len(recording.bytes), 4)
    first, *_, last = recording.bytes
    note = f"{first} bytes, then {', '.join(map(str, recording.bytes[1:]))}"
    return [Figure("retry", last / first, "×", GROWTH, note=note)]


# ---------------------------------------------------------------- extraction


def reply(size: int) -> str:
    """About `size` bytes: prose with braces, a fence, an object with trailing commas, prose."""
    head = "Here is what I found {as asked}. Note the `code` and the [list].\n\n```json\n"
    tail = "\n```\nTell me if {anything} is missing.\n"
    entries: list[str] = []
    length = len(head) + len(tail)
    while length < size:
        number = len(entries)
        entry = f'  {{"id": {number}, "text": "entry {number}, with a \\"quote\\" and {{braces}},", "tags": ["a", "b",],}},\n'
        entries.append(entry)
        length += len(entry)
    return f'{head}{{"entries": [\n{"".join(entries)}],}}{tail}'


def extraction(plan: Plan) -> list[Figure]:
    texts = [reply(38_000), reply(4 * 38_000)]
    for text in texts:
        found = extract(text)
        require(len(found.value["entries"]), text.count('"id"'))
        require(found.value["entries"][1]["text"], 'entry 1, with a "quote" and {braces},')
    once, four = interleave([partial(extract, text) for text in texts], plan)
    per_byte = (four.median / len(texts[1])) / (once.median / len(texts[0]))
    note = f"{len(texts[0]):,} bytes with prose, fence and trailing commas"
    return [
        Figure("extraction", once.median * 1e3, "ms", EXTRACTION, spread=once.spread, note=note),
        Figure("extraction_linear", per_byte, "×", LINEAR, note="time a byte, four times the text over once"),
    ]
