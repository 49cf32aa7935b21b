"""Recordings for tests: written by the product's own writer, so that their seals are right, with rows as runs leave them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from concerto.runtime.journal.effect_file import EffectFileWriter, _sealed
from concerto.runtime.journal.forms import digest_of
from concerto.runtime.journal.rows import DeliveryRow, EffectRow, EmitRow, EndRow, Header, PieceRow

if TYPE_CHECKING:
    from concerto.runtime.journal.rows import Row

HOSTILE = (
    "</script><script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "<!--<script>",
    "]]>\u2028\u2029\x00\x1b[2J\ud800 ' \" & &lt; %DATA% %SCRIPT% ${document.title='run'} `",
)


def header(**changed: Any) -> Header:
    fields: dict[str, Any] = {
        "program": "shop", "image": "ab" * 32, "run": "0123456789abcdef", "args": [], "seed": 7, "wall": 1_795_800_000.0,
        "offline": False,
    }  # fmt: skip
    return Header(**{**fields, **changed})


def message(role: str, content: str, **more: Any) -> dict[str, Any]:
    return {"role": role, "content": content, **more}


def call(
    key: str, id: str, messages: list[dict[str, Any]], reply: str = "", *, model: str = "gpt-5.4-mini",
    t: tuple[float, float] = (0.0, 0.0), calls: Iterable[list[Any]] = (), failure: dict[str, Any] | None = None,
    tokens: tuple[int, ...] = (10, 5, 0, 0, 0), **more: Any,
) -> EffectRow:  # fmt: skip
    """A request to a model and its reply, or its failure."""
    request = {"id": id, "connection": "openai", "model": model, "messages": messages, "params": {}, "stream": False, **more}
    row = EffectRow(key, "model", "repeatable", digest_of(request), request, "0" * 32, t_start=t[0], t_end=t[1])
    if failure is not None:
        row.status, row.result = "failed", failure
        return row
    row.result = {"text": reply, "finish": "stop", "model": model, "calls": list(calls)}
    row.tokens = list(tokens)
    return row


def effect(
    key: str, kind: str, request: Any, result: Any = None, t: tuple[float, float] = (0.0, 0.0), status: str = "done"
) -> EffectRow:
    """An effect of another kind."""
    row = EffectRow(key, kind, "once", digest_of(request), request, "0" * 32, status=status, result=result)
    row.t_start, row.t_end = t
    return row


def recorded(path: Path, rows: Iterable[Row], **changed: Any) -> Path:
    """Write a recording and return its path."""
    writer = EffectFileWriter(str(path), header(**changed))
    batch: list[Row] = []
    for row in rows:
        batch.append(row)
        if len(batch) == 500:
            writer.commit(batch)
            batch = []
    writer.commit(batch)
    writer.close()
    return path


def sealed(path: Path, lines: Iterable[Any]) -> Path:
    """Write plain data as lines whose seals are right, whatever they hold."""
    seal, texts = "", []
    for plain in lines:
        text, seal = _sealed(json.dumps(plain), seal)
        texts.append(text)
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


BUSY = {"kind": "ConnectionError", "variant": "RateLimited", "message": "429 too many requests", "retry_class": "rate_limit"}


def small() -> Iterator[Row]:
    """A run that has one of everything that the trace shows."""
    system, prompt = message("system", "You take orders."), message("user", "Two tickets, please.")
    yield call("0:1/1", "Clerk-1.1", [system, prompt], failure=BUSY, t=(0.0, 120.0))
    yield call("0:1/2", "Clerk-1.1", [system, prompt], "Sure!", t=(620.0, 900.0), tokens=(20, 7, 8, 0, 3))
    again = message("user", "Two tickets, please.\n\nYour previous reply was not accepted:\n- $: not valid JSON")
    yield call("0:1/3", "Clerk-1.2", [system, again], '{"count": 2}', t=(900.0, 1000.0))
    yield EmitRow("order", {"count": 2}, False, 1000.0)
    question = message("user", "Where is order 7?")
    asked = [["c1", "Orders__find", {"number": "7"}, '{"number":"7"}']]
    yield call("0:2/1", "Clerk-2.1", [system, question], "", t=(1000.0, 1500.0), calls=asked)
    yield EmitRow("audit:tool_call", {"tool": "Orders", "method": "find"}, True, 1500.0)
    yield effect("0.1:1", "file", ["read_file", "orders.txt"], "7 lamp", (1500.0, 1501.0))
    turn = [
        message("assistant", "", calls=[{"id": "c1", "name": "Orders__find", "arguments": {"number": "7"}}]),
        message("tool", '{"sent": true}', call_id="c1", is_error=False),
    ]
    yield call("0:2/2", "Clerk-2.2", [system, question, *turn], "It is on its way.", t=(1501.0, 1900.0))
    yield DeliveryRow("0:2")
    for at, piece in enumerate(("It ", "is ", "sent")):
        yield PieceRow("1:1/1", piece, 2000.0 + at)
    yield call("1:1/1", "Teller-3.1", [question], "It is sent", t=(1950.0, 2003.0), model="other-1")
    buys = {"server": "Shop", "method": "tools/call", "tool": "buy", "arguments": {"n": 1}}
    yield effect("0:3/Shop.1", "mcp", buys, None, (2003.0, 0.0), "intent")
    yield effect("0:3/Shop.1", "mcp", buys, {"value": [None, ["bought"], False, []]}, (2003.0, 2010.0))
    yield effect("0:4/wait.1", "wait", {"seconds": 2.5}, None, (2010.0, 4510.0))
    yield effect("0:5/ok.1", "answer", {"channel": "ok", "value": "pay?"}, {"value": True}, (4510.0, 4600.0))
    yield EmitRow(None, "done\n", False, 4600.0)
    yield effect("0:6/Shop.1", "mcp", {**buys, "tool": "pay", "arguments": {}}, None, (4600.0, 0.0), "intent")
    yield EndRow("panic", "division by zero", "P003", None, 4700.0)


def many(count: int, seed: int = 1, length: int = 200) -> Iterator[Row]:
    """So many rows of several tasks side by side: conversations that grow, attempts, failures, tools and emits."""
    random, t, n = Random(seed), 0.0, 0
    words = ["lamp", "order", "price", "table", "refund", "chair", "letter", "bicycle", "Zürich", "später", "«quoted»", "crème"]
    talks: dict[str, list[dict[str, Any]]] = {}
    effects: dict[str, int] = {}

    def text(size: int) -> str:
        return " ".join(random.choices(words, k=max(size // 6, 1)))

    while n < count - 1:
        task = f"0.{random.randrange(1, 13)}"
        effects[task] = number = effects.get(task, 0) + 1
        talk = talks.get(task) or [message("system", f"You are clerk {task}. " + text(length))]
        prompt = message("user", text(length))
        id, key, model = f"Clerk-{task}-{number}", f"{task}:{number}", f"model-{random.randrange(4)}"
        t += random.random() * 40
        rows: list[Row] = []
        roll = random.random()
        if roll < 0.05:
            rows.append(call(f"{key}/1", f"{id}.1", [*talk, prompt], failure=BUSY, model=model, t=(t, t + 50)))
        reply = text(length)
        tokens = (len(reply), 40, 9, 0, 2)
        rows.append(call(f"{key}/2", f"{id}.1", [*talk, prompt], reply, model=model, t=(t + 60, t + 400), tokens=tokens))
        if roll > 0.9:
            why = "Your previous reply was not accepted:\n- $.count: missing required field"
            again = message("user", f"{prompt['content']}\n\n{why}")
            rows.append(call(f"{key}/3", f"{id}.2", [*talk, again], reply + " 2", model=model, t=(t + 400, t + 700)))
        rows.append(EmitRow("answer", reply[:40], False, t + 700))
        rows.append(effect(f"{task}:{number}x", "clock", ["now_ms"], 1, (t + 700, t + 700)))
        talks[task] = talk[:1] if len(talk) > 12 else [*talk, prompt, message("assistant", reply)]
        for row in rows[: count - 1 - n]:
            yield row
            n += 1
    yield EndRow("ok", t=t + 1000)
