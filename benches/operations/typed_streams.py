"""A reply that arrives as parts of a value (O-2.72): what 38 KB in 228 chunks cost, whether twice as much costs twice, and beside
it what it costs to read the text anew with each chunk, as others do: with jiter alone, and with pydantic's partial validation.

The row `typed_stream` counts all of it: the provider in the process, the effects, the parts as values of the program.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from typing import Any

import concerto

from ..execution import require
from ..figures import Figure, Target
from ..sampling import Plan, interleave

WHOLE = Target("O-2.72", 15)
TWICE = Target("O-2.72", 2.2)
BYTES, CHUNKS = 38_000, 228
PROGRAM = """
schema Row { name: String, about: String, n: Int, tags: Array<String> }
schema Report { title: String, summary: String, rows: Array<Row> }
model M { provider: offline, base: "m", max_tokens: 1000000 }
pub fn walk() -> Result<Array<Int>, AgentError> {
    let mut parts = 0;
    let s = M.stream_with_schema<Report>("go")?;
    for _ in s { parts += 1; }
    Ok([parts, s.done()?.rows.len()])
}
"""


def reply(size: int) -> str:
    """Return a report of at least so many bytes as JSON."""
    about = 'Lamps and shades of all kinds, with a "guarantee" of two years. ' * 2
    rows: list[dict[str, Any]] = []
    while True:
        rows.append({"name": f"row {len(rows)}", "about": about, "n": len(rows), "tags": ["a", "b", "c"]})
        text = json.dumps({"title": "A report", "summary": "It is long. " * 40, "rows": rows})
        if len(text) >= size:
            return text


def chunked(text: str, count: int) -> list[str]:
    step = -(-len(text) // count)
    return [text[at : at + step] for at in range(0, len(text), step)]


def typed_stream(plan: Plan) -> list[Figure]:
    """The rows `typed_stream` and `typed_stream_linear`."""
    program = concerto.compile(PROGRAM)
    texts = [reply(BYTES), reply(2 * BYTES)]
    pieces = [chunked(text, CHUNKS * (number + 1)) for number, text in enumerate(texts)]
    replies = plan.samples * 4 + 8
    fields: list[dict[str, Any]] = [{"provider": "offline", "replies": [{"chunks": each}] * replies} for each in pieces]
    sessions = [program.session(connections={"offline": each}) for each in fields]
    for session, text in zip(sessions, texts, strict=True):
        require(session.call("walk")[1], len(json.loads(text)["rows"]))
    works: list[Callable[[], Any]] = [partial(session.call, "walk") for session in sessions]
    one, two, jiter, pydantic = interleave([*works, partial(by_jiter, pieces[0]), partial(by_pydantic, pieces[0])], plan)
    for session in sessions:
        session.close()
    ms = one.median * 1000
    note = f"{len(texts[0]):,} bytes in {CHUNKS} chunks; read anew with each: jiter alone {jiter.median * 1000:.1f} ms, "
    note += f"pydantic's partial validation {pydantic.median * 1000:.1f} ms"
    return [
        Figure("typed_stream", ms, "ms", WHOLE, ratio=one.median / jiter.median, spread=one.spread, note=note),
        Figure("typed_stream_linear", two.median / one.median, "×", TWICE, note="twice the text in twice the chunks"),
    ]


def by_jiter(pieces: list[str]) -> int:
    """Read the whole text anew with each chunk, as far as it goes."""
    from jiter import from_json

    text, count = "", 0
    for piece in pieces:
        text += piece
        count += len(from_json(text.encode(), partial_mode="trailing-strings"))
    return count


def by_pydantic(pieces: list[str]) -> int:
    """Validate the whole text anew with each chunk, as far as it goes; the way of pydantic-ai's `stream_output`."""
    from pydantic import TypeAdapter
    from typing_extensions import TypedDict

    class Row(TypedDict, total=False):
        name: str
        about: str
        n: int
        tags: list[str]

    class Report(TypedDict, total=False):
        title: str
        summary: str
        rows: list[Row]

    adapter = TypeAdapter(Report)
    text, count = "", 0
    for piece in pieces:
        text += piece
        count += len(adapter.validate_json(text, experimental_allow_partial="trailing-strings"))
    return count
