"""Replies that arrive as parts of a value, whole, cut, damaged and in any chunks (O-2.70 to O-2.75): what is shown only grows,
the last part is the value, and a reply that is refused ends in a typed error and leaves the memory as it was."""

from __future__ import annotations

import json
import random
from typing import Any

import concerto
from concerto.runtime.schema.growing_json import GrowingObject

from benches.extraction.spellings import PLACES, SPELLINGS, Writer, placed

from .campaign import Campaign, Figures

PROGRAM = concerto.compile("""
    schema Row { name: String, n: Int, tags: Array<String> }
    schema Report { title: String, rows: Array<Row>, by: Map<String, Int>, note?: String, size: Float = 1.5, kind: "a" | "b" }
    model M { provider: offline }
    memory chat: Memory = Memory::new();
    fn rank(p: Progress<Any>) -> Int { match p { Missing => 0, Growing(_) => 1, Done(_) => 2 } }
    pub fn walk() -> Map<String, Any> {
        let before = chat.dump();
        let mut seen: Array<Array<Any>> = [];
        let outcome: Any = try {
            let s = M.with(memory: chat).stream_with_schema<Report>("go")?;
            let mut attempt = 1;
            for p in s {
                if s.attempt() != attempt { attempt = s.attempt(); seen = []; }
                seen.push([p.title, p.rows, p.by, p.note, p.size, p.kind]);
            }
            s.done()? as Any
        } catch e { {"error": typeof(e), "variant": e.variant} as Any };
        {"seen": seen, "outcome": outcome, "same": chat.dump() == before, "messages": chat.len()}
    }
    pub fn rows() -> Map<String, Any> {
        let mut seen: Array<Row> = [];
        let outcome: Any = try {
            let s = M.stream_with_schema<Report>("go")?;
            let mut attempt = 1;
            for row in s.items("rows") {
                if s.attempt() != attempt { attempt = s.attempt(); seen = []; }
                seen.push(row);
            }
            s.done()? as Any
        } catch e { {"error": typeof(e), "variant": e.variant} as Any };
        {"seen": seen, "outcome": outcome}
    }
""")
TEXTS = ("", "a", "two words", 'with "quotes" and \\ and \n', "grün 😀", "}{][", "<think>")


def report(rng: random.Random) -> dict[str, Any]:
    made: dict[str, Any] = {
        "title": rng.choice(TEXTS) * rng.randrange(1, 9),
        "rows": [
            {"name": rng.choice(TEXTS), "n": rng.randrange(-9, 10**6), "tags": rng.choices(TEXTS, k=rng.randrange(3))}
            for _ in range(rng.randrange(6))
        ],
        "by": {f"k{number}": number for number in range(rng.randrange(4))},
        "kind": rng.choice("ab"),
    }
    if rng.random() < 0.5:
        made["note"] = rng.choice([*TEXTS, None])
    if rng.random() < 0.5:
        made["size"] = rng.choice([2.5, -1.0, 3])
    return dict(rng.sample(list(made.items()), len(made)))


def chunks(rng: random.Random, text: str) -> list[str]:
    pieces = []
    while text:
        size = rng.choice((1, 2, 3, 7, 20, 100))
        pieces.append(text[:size])
        text = text[size:]
    return pieces or [""]


def damaged(rng: random.Random, text: str) -> str:
    """The text cut, or with a few signs taken out, changed or put in."""
    if rng.random() < 0.4:
        return text[: rng.randrange(len(text) + 1)]
    signs = list(text)
    for _ in range(rng.randrange(1, 5)):
        at = rng.randrange(len(signs) + 1)
        signs[at : at + rng.randrange(3)] = rng.choice(["", "x", '"', "}", "]", ",", "{", "\\", "\\ud83d", "<think>", "\x00"])
    return "".join(signs)


def only_grows(seen: list[Any]) -> None:
    for one, other in zip(seen, seen[1:], strict=False):
        for before, after in zip(one, other, strict=True):
            order = ["Missing", "Growing", "Done"]
            assert order.index(before.variant) <= order.index(after.variant), (before, after)
            if before.variant == "Growing":
                old, new = before.data, after.data
                grown = new[: len(old)] if isinstance(new, (str, list)) else {key: new[key] for key in old}
                assert old == grown, (before, after)
            elif before.variant == "Done":
                assert before == after


def of_streams(seed: int, count: int) -> Figures:
    rng = random.Random(seed)
    accepted = refused = 0
    for number in range(count):
        text = json.dumps(report(rng), ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1)))
        is_sound = number % 3 == 0
        if not is_sound:
            text = damaged(rng, text)
        if rng.random() < 0.3:
            text = rng.choice(("Here:\n```json\n{}\n```\n", "<think>{{\"title\": 1}}</think>{}", "{}\n")).replace("{}", text)
        replies = [{"chunks": chunks(rng, text)}, {"chunks": chunks(rng, damaged(rng, text))}, {"chunks": chunks(rng, text)}]
        settings = {"offline": {"provider": "offline", "replies": replies}}
        case = f"seed {seed}, case {number}: {text!r}"
        with PROGRAM.session(connections=settings) as session:
            told = session.call("walk")
        outcome = told["outcome"]
        if isinstance(outcome, dict):
            refused += 1
            assert told["same"] and outcome["error"] in ("SchemaError", "AgentError"), case
            assert not is_sound, case
            continue
        accepted += 1
        assert told["messages"] == 2 and not told["same"], case
        try:
            only_grows(told["seen"][:-1])
        except AssertionError as wrong:
            raise AssertionError(f"{case}\n{wrong}") from None
        last = told["seen"][-1]
        values = [outcome.title, outcome.rows, outcome.by, outcome.note, outcome.size, outcome.kind]
        assert [part.data for part in last] == values and all(part.variant == "Done" for part in last), case
        with PROGRAM.session(connections=settings) as session:
            elements = session.call("rows")
        assert elements["seen"] == elements["outcome"].rows, case
    return {"accepted": accepted, "refused": refused}


def of_spellings(seed: int, count: int) -> Figures:
    """Nothing that a model may write makes the reader fail, whatever the chunks; plain JSON is read to its end."""
    rng = random.Random(seed)
    for number in range(count):
        value = report(rng)
        written = Writer(rng, set(rng.sample(sorted(SPELLINGS), rng.randrange(3)))).text(value)
        before, behind = placed(written, rng.choice(sorted(PLACES)), rng)
        text = before + written + behind
        reader = GrowingObject()
        for piece in chunks(rng, text):
            reader.feed(piece)
        plain = GrowingObject()
        for piece in chunks(rng, json.dumps(value)):
            plain.feed(piece)
        assert plain.is_whole and plain.members == value, f"seed {seed}, case {number}"
    return {}


CAMPAIGNS = [
    Campaign("replies that arrive as parts of a value", "O-2.72", 60, 2_000, of_streams),
    Campaign("spellings of replies, chunk by chunk", "O-2.72", 200, 10_000, of_spellings),
]
