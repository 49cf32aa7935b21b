"""Whatever a model or a server sends: a whole value of the declared type, or a typed failure (G-2.11, G-9.1, G-9.2).

CONCERTO_HOSTILE sets how many texts are sent; the clause asks for 300,000 in a release. What a program was given is held against
the schema here, in Python.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections import Counter
from typing import Any

import httpx2
import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.access.permissions import Permissions
from concerto.runtime.host import Host
from concerto.runtime.mcp.questions import Caller, Question
from concerto.runtime.mcp.resources import Part, PromptPart, ServedPrompt, ServedResource
from concerto.runtime.mcp.served import Answer, ServedTool
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_image
from concerto.vm.values import from_json, to_json

COUNT = int(os.environ.get("CONCERTO_HOSTILE", "1500"))
SOURCE = """
connect lab { provider: "openai", api: "chat", retry: { max_attempts: 1 } }
schema Inner { tag: "a" | "b", score?: Float }
schema R { n: Int, tags: Array<String>, inner: Inner, more: Map<String, Int> }
tool T {
    description: "t",
    @describe("m") @param("q", "q") @param("xs", "xs")
    pub fn m(self, q: Int, xs: Array<String>) -> Int { emit("ran", (q, xs)); q }
}
mcp W { transport: "stdio", command: "w", fn get(q: String) -> R; fn list() -> Array<Int>; fn any(); }
model M { provider: lab, base: "m" }
fn main() {
    for i in 0..ROUNDS {
        match M.execute_with_schema<R>("schema") { Ok(r) => emit("R", r), Err(e) => emit("failed", "R ${typeof(e)}") }
        match M.with_tools([T]).execute("tools") { Ok(r) => emit("text", r.text), Err(e) => emit("failed", "tools ${typeof(e)}") }
        match W.get("x") { Ok(r) => emit("R", r), Err(e) => emit("failed", "get ${typeof(e)}") }
        match W.list() { Ok(r) => emit("list", r), Err(e) => emit("failed", "list ${typeof(e)}") }
        match W.any() { Ok(_) => emit("any", 1), Err(e) => emit("failed", "any ${typeof(e)}") }
        match W.resource<String>("u") { Ok(t) => emit("text", t), Err(e) => emit("failed", "resource ${typeof(e)}") }
        match W.resource("u") { Ok(v) => emit("any", typeof(v)), Err(e) => emit("failed", "either ${typeof(e)}") }
        match W.prompt("p") { Ok(p) => emit("text", p.text), Err(e) => emit("failed", "prompt ${typeof(e)}") }
        match W.messages("p") { Ok(ms) => emit("any", ms), Err(e) => emit("failed", "messages ${typeof(e)}") }
        match W.prompts() { Ok(ps) => emit("any", ps), Err(e) => emit("failed", "prompts ${typeof(e)}") }
        match W.resources() { Ok(rs) => emit("any", rs), Err(e) => emit("failed", "resources ${typeof(e)}") }
    }
}
"""
GOOD = {"n": 3, "tags": ["x"], "inner": {"tag": "a", "score": 0.5}, "more": {"k": 1}}
TEXT = json.dumps(GOOD)
CRAFTED = [
    TEXT, "", " ", "null",
    "[]", "{}", "{" * 5000, "[" * 5000 + "]" * 5000, '{"n": ' * 70 + "1" + "}" * 70, TEXT[:-1], TEXT + TEXT,
    TEXT.replace("3", "9223372036854775808"), TEXT.replace("3", "-9223372036854775809"), TEXT.replace("3", "3.5"),
    TEXT.replace("0.5", "1e999"), TEXT.replace("0.5", "NaN"), TEXT.replace("0.5", "-Infinity"),
    TEXT.replace('"n": 3', '"n": 3, "n": 4'), TEXT.replace('["x"]', '["x", 1]'), TEXT.replace('"a"', '"c"'),
    TEXT.replace('"x"', '"\\ud800"'), TEXT.replace('"x"', '"\U000e0041\U000e007f"'), TEXT.replace('{"k": 1}', '{"__proto__": 1}'),
    TEXT.replace('"x"', f'"{"y" * 1_100_000}"'), "```json\n" + TEXT + "\n```", f"Sure {{n}}: {TEXT} or {{\"n\": 4}}",
    "\ufeff" + TEXT, TEXT.replace("3", "0x3").replace('"', "'"),
]  # fmt: skip
SPLINTERS = [
    '"', "{", "}", "[", "]", ",", ":",
    "\\", "\\u", "\\ud800", "\x00", "\U000e0041", "null", "1e400", "-", "\n", "`", "é", "\u202e",
]  # fmt: skip


def texts(chance: random.Random) -> str:
    """One of the crafted, a splintered good one, or nothing but splinters."""
    kind = chance.random()
    if kind < 0.1:
        return chance.choice(CRAFTED)
    if kind < 0.3:
        return "".join(chance.choice(SPLINTERS) for _ in range(chance.randrange(40)))
    text = TEXT
    for _ in range(chance.choice((0, 1, 1, 2, 4))):
        at = chance.randrange(len(text) + 1)
        text = text[:at] + chance.choice(["", chance.choice(SPLINTERS)]) + text[at + chance.randrange(3) :]
    return text


def values(chance: random.Random, depth: int = 0) -> Any:
    """A value that a server may send as structured content."""
    if depth == 0 and chance.random() < 0.4:
        return chance.choice([GOOD, {"result": [1, 2]}, [1, 2], {"result": GOOD}, {**GOOD, "n": 2**63}, {"result": [1, 2.5]}])
    kind = chance.randrange(9 if depth < 4 else 7)
    if kind == 7:
        return [values(chance, depth + 1) for _ in range(chance.randrange(4))]
    if kind == 8:
        return {chance.choice(["n", "tags", "inner", "more", "result", "\ud800"]): values(chance, depth + 1) for _ in range(3)}
    return chance.choice([None, True, 2**63 - 1, 2**64, 0.5, float("nan"), "\ud800", texts(chance)])


class Peers:
    """The model and the server: every answer is drawn anew."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        self.crafted = list(CRAFTED)

    def text(self) -> str:
        return self.crafted.pop() if self.crafted else texts(self.chance)

    def handle(self, request: httpx2.Request) -> httpx2.Response:
        body = json.loads(request.content)
        message: dict[str, Any] = {"role": "assistant", "content": self.text()}
        calls = bool(body.get("tools")) and body["messages"][-1]["role"] == "user"
        if calls:
            name = self.chance.choice(["T__m", "T__m", "T__m", "T__x", "m", "", "T__m\n"])
            arguments = self.chance.choice(['{"q": 1, "xs": ["a"]}', '{"q": "1", "xs": "a"}', '{"xs": []}', self.text()])
            function = {"name": name, "arguments": arguments}
            many = range(self.chance.choice((1, 1, 3)))
            message["tool_calls"] = [{"id": f"c{n}", "type": "function", "function": function} for n in many]
        choice = {"index": 0, "finish_reason": "tool_calls" if calls else "stop", "message": message}
        # lone surrogates travel as escapes, as they would in a reply
        content = json.dumps({"model": "m", "choices": [choice]}).encode()
        return httpx2.Response(200, content=content, headers={"content-type": "application/json"})

    async def tools(self) -> list[ServedTool]:
        asked = {"type": "object", "properties": {"q": {"type": "string"}}}
        return [ServedTool("get", "d", asked), *(ServedTool(name, "d", {"type": "object"}) for name in ("list", "any"))]

    async def call(self, name: str, arguments: dict[str, Any], caller: Caller) -> Answer:
        if self.chance.random() < 0.3:
            form = {"properties": values(self.chance, 1), "required": values(self.chance, 1)}
            await caller.reply(Question(self.text(), form, self.chance.choice([None, None, "https://a.example/"])))
            caller.progress(self.chance.choice([1.0, float("nan")]), None, self.text())
        structured = values(self.chance) if self.chance.random() < 0.5 else None
        return Answer(structured, [self.text()], self.chance.random() < 0.1)

    async def read(self, uri: str, caller: Caller) -> list[Part]:
        parts = [Part(self.text()), Part(None, self.chance.choice([b"", b"GIF89a", b"\xff", b"%PDF-"]))]
        return [self.chance.choice(parts) for _ in range(self.chance.choice((0, 1, 1, 3, 1001)))]

    async def prompt(self, name: str, arguments: dict[str, str], caller: Caller) -> list[PromptPart]:
        roles = [self.chance.choice(["user", "user", "user", "assistant"]) for _ in range(self.chance.choice((0, 1, 2)))]
        return [PromptPart(role, self.text()) for role in roles]

    async def resources(self) -> list[ServedResource]:
        return [ServedResource(self.text(), self.text(), None, self.text(), None, self.chance.choice([-1, 2**64, 5]))]

    async def prompts(self) -> list[ServedPrompt]:
        return [ServedPrompt(self.text(), None, self.text(), [(self.text(), None, True)])]

    async def aclose(self) -> None:
        """There is nothing to close."""


def fits(value: Any) -> bool:
    """The schema R, with the absent field as null."""
    inner = value["inner"]
    return (
        set(value) == {"n", "tags", "inner", "more"} and is_int(value["n"]) and all(type(tag) is str for tag in value["tags"])
        and set(inner) <= {"tag", "score"} and inner["tag"] in ("a", "b")
        and (inner.get("score") is None or type(inner["score"]) in (int, float)) and all(map(is_int, value["more"].values()))
    )  # fmt: skip


def is_int(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


CHECKS = {
    "R": fits,
    "ran": lambda value: is_int(value[0]) and all(type(x) is str for x in value[1]),
    "list": lambda value: all(map(is_int, value)),
    "text": lambda value: type(value) is str,
    "any": lambda value: True,
    "failed": lambda value: value.split()[1].endswith("Error"),
}


@pytest.mark.parametrize("seed", range(2))
def test_a_whole_value_or_a_typed_failure(seed: int) -> None:
    rounds = max(COUNT // 8, 60)  # some twenty texts a round
    compiled = compile_source(SOURCE.replace("ROUNDS", str(rounds)).encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    peers, seen = Peers(seed), Counter[str]()

    def emit(channel: str, value: Any, by_runtime: bool) -> None:
        if by_runtime:
            return
        text = to_json(value)
        text.encode()  # no lone surrogate came through (G-9.1)
        assert "\U000e0041" not in text
        known = json.loads(text)
        assert CHECKS[channel](known), (channel, known)
        seen[channel if channel != "failed" else known] += 1

    async def ran() -> Any:
        host = Host(
            emit=emit, print=print, env={"OPENAI_API_KEY": "k"}, now=lambda: 0.0, sleep=asyncio.sleep, random=lambda: 0.0,
            http_client=httpx2.AsyncClient(transport=httpx2.MockTransport(peers.handle)),
            permissions=Permissions.of_texts(["run"]), server=served,
        )  # fmt: skip
        host.answer = answered
        session = Session(load_image(compiled.image), host)
        try:
            return await session.run()
        finally:
            await session.aclose()

    async def served(settings: Any) -> Peers:
        return peers

    async def answered(channel: str, value: Any, run: Any) -> Any:
        """What a person answers the server: what fits nothing, most of the time."""
        return from_json(json.loads(json.dumps(peers.chance.choice([None, True, {}, {"n": 3}, [1], "yes", {"n": {"m": 1}}]))))

    outcome = asyncio.run(ran())
    assert outcome.panic is None and outcome.error is None, outcome.panic or outcome.message
    ends = seen["R"] + seen["list"] + seen["text"] + seen["any"] + sum(n for name, n in seen.items() if " " in name)
    assert ends == 11 * rounds and not peers.crafted
    assert min(seen[name] for name in ("R", "ran", "list", "text", "any")) > 3 and sum(" " in name for name in seen) >= 3
