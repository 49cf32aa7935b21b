"""V-8.10 and V-8.11: what schema retries add to a request, and tolerant extraction of JSON."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

from concerto.runtime.connections import resolve_all
from concerto.runtime.providers.json_fields import Fields
from concerto.runtime.records import Reply, Request
from concerto.runtime.schema.extraction import extract

from ..execution import Concerto, require
from ..figures import Figure, Target
from ..sampling import Plan, interleave
from .memories import Wire

GROWTH = Target("V-8.10", 1.6)
EXTRACTION = Target("V-8.11", 5)
LINEAR = Target("V-8.11", 1.5)
STREAMED = Target("V-8.11", 3, on_ratio=True)
CHUNKS = 228

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
    events = stream_events(texts[0])
    require(extract_streamed(events), extract(texts[0]).value)
    once, four, chunks = interleave([*(partial(extract, text) for text in texts), partial(extract_streamed, events)], plan)
    per_byte = (four.median / len(texts[1])) / (once.median / len(texts[0]))
    note = f"{len(texts[0]):,} bytes with prose, fence and trailing commas"
    return [
        Figure("extraction", once.median * 1e3, "ms", EXTRACTION, spread=once.spread, note=note),
        Figure("extraction_linear", per_byte, "×", LINEAR, note="time a byte, four times the text over once"),
        Figure(
            "extraction_streamed",
            chunks.median * 1e3,
            "ms",
            STREAMED,
            ratio=chunks.median / once.median,
            spread=chunks.spread,
            note=f"{CHUNKS} chunks put together, then extracted; ratio to the text in one piece",
        ),
    ]


def stream_events(text: str) -> list[dict[str, Any]]:
    """The reply as a stream of the chat wire brings it."""
    size = -(-len(text) // CHUNKS)
    deltas = [{"content": text[at : at + size]} for at in range(0, len(text), size)]
    require(len(deltas), CHUNKS)
    return [
        *({"model": "m", "choices": [{"delta": delta, "finish_reason": None}]} for delta in deltas),
        {"choices": [{"delta": {}, "finish_reason": "stop"}]},
    ]


def extract_streamed(events: list[dict[str, Any]]) -> dict[str, Any]:
    provider = Wire(resolve_all([])["openai"])
    growing = provider.growing()
    for event in events:
        growing.take(Fields(event))
    return extract(provider.read(growing.whole()).text).value
