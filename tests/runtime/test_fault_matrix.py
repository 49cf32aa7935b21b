"""Provider faults x paths: what a program gets, over both SDKs and a transport of our own (O-1.54, O-1.75, O-1.123 to O-1.130,
O-2.46 to O-2.52, O-3.13).

Every cell is the error's kind and variant, or `ok` for a recovery, and the number of requests it took. A fault comes as the
last request of a path does: in the tool loop after one round. Nothing waits: sleeps are counted, time outs are raised.
"""

import asyncio
import json

import concerto
import httpx2
import pytest
from concerto.runtime.host import Host
from concerto.runtime.session.session import Session
from concerto.vm.interp.link import load_bytes
from concerto.vm.values import Err

SOURCE = """
connect lab { provider: "openai", api: "chat", structured: "native", retry: { backoff: "none" } }
connect lab2 { provider: "anthropic", structured: "native", retry: { backoff: "none" } }
schema Kind { kind: "bug" | "task" }
memory log: Memory = Memory::new();
tool T {
    description: "Adds",
    /// Adds one.
    pub fn m(@param("n") n: Int) -> Int { n + 1 }
}
model Chat { provider: lab, base: "m-1" }
model Anthropic { provider: lab2, base: "m-1" }
pub fn length() -> Int { log.len() }
pub fn plain(m: ModelRef) -> Result<String, AgentError> { Ok(m.execute("q")?.text) }
pub fn builder(m: ModelRef) -> Result<String, AgentError> { Ok(m.with_context(1).with_memory(log).execute("q")?.text) }
pub fn schema(m: ModelRef) -> Result<String, AgentError> {
    let found: Kind = m.with_memory(log).execute_with_schema<Kind>("q")?;
    Ok(found.kind)
}
pub fn tool(m: ModelRef) -> Result<String, AgentError> { Ok(m.with_memory(log).with_tools([T]).execute("q")?.text) }
pub fn stream(m: ModelRef) -> Result<String, AgentError> {
    let s = m.with_memory(log).stream("q")?;
    let mut text = "";
    for c in s { text += c.text; }
    Ok(text)
}
pub fn chat() -> ModelRef { Chat }
pub fn anthropic() -> ModelRef { Anthropic }
fn main() { }
"""
PROGRAM = load_bytes(concerto.compile(SOURCE).to_bytes())
PATHS = ("plain", "builder", "stream", "schema", "tool")
GOOD = '{"kind": "bug"}'
UNWRITTEN = ("plain",)  # paths without a memory


# ---------------------------------------------------------------- what a provider sends


def message(wire, content=GOOD, finish="stop", calls=()):
    """A whole reply in the words of a wire."""
    if wire == "chat":
        named = [{"id": "c1", "type": "function", "function": {"name": n, "arguments": a}} for n, a in calls]
        body = {"role": "assistant", "content": content, **({"tool_calls": named} if named else {})}
        return {"model": "m", "choices": [{"index": 0, "finish_reason": "tool_calls" if named else finish, "message": body}]}
    stop = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}[finish]
    used = [{"type": "tool_use", "id": "c1", "name": n, "input": json.loads(a)} for n, a in calls]
    blocks = [{"type": "text", "text": content}, *used]
    return {"type": "message", "model": "m", "content": blocks, "stop_reason": "tool_use" if used else stop}


def events(wire, content=GOOD, finish="stop", whole=True):
    """A streamed reply in two pieces; without its end when it is not whole."""
    half = len(content) // 2
    if wire == "chat":
        made = [
            {"model": "m", "choices": [{"index": 0, "delta": {"content": part}, "finish_reason": None}]}
            for part in (content[:half], content[half:])
        ]
        made.append({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    else:
        stop = {"stop": "end_turn", "length": "max_tokens", "content_filter": "refusal"}[finish]
        made = [
            {"type": "message_start", "message": {"model": "m", "content": []}},
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
            *(
                {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": part}}
                for part in (content[:half], content[half:])
            ),
            {"type": "message_delta", "delta": {"stop_reason": stop}, "usage": {"output_tokens": 2}},
            {"type": "message_stop"},
        ]
    return made if whole else made[: 1 if wire == "chat" else 3]


def said(wire, path, content=GOOD, finish="stop", whole=True):
    if path != "stream":
        return httpx2.Response(200, json=message(wire, content, finish))
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events(wire, content, finish, whole))
    return httpx2.Response(200, content=body.encode(), headers={"content-type": "text/event-stream"})


def status(code, **headers):
    return lambda wire, path: httpx2.Response(code, json={"error": {"message": "no"}}, headers=headers)


def breaks(error):
    def answer(wire, path):
        raise error("broken")

    return answer


def garbage(wire, path):
    kind = "text/event-stream" if path == "stream" else "application/json"
    return httpx2.Response(200, content=b"<html>", headers={"content-type": kind})


# ---------------------------------------------------------------- the table

# fault: (what is answered, whether every time or once, the cell of every path, other cells by path). The requests are those after
# the tool round.
FAULTS = {
    "401": (status(401), False, "ConnectionError.AuthenticationFailed 1"),
    "403": (status(403), False, "ConnectionError.AuthenticationFailed 1"),
    "404": (status(404), False, "AgentError.ModelNotFound 1"),
    "400": (status(400), False, "AgentError.InvalidRequest 1"),
    "422": (status(422), False, "AgentError.InvalidRequest 1"),
    "408 once": (status(408), False, "ok 2"),
    "408": (status(408), True, "TimeoutError.None 3"),
    "429 once": (status(429), False, "ok 2"),
    "429": (status(429), True, "AgentError.RateLimited 3"),
    "429 with a wait": (status(429, **{"retry-after": "7"}), False, "ok 2"),
    "429 with a long wait": (status(429, **{"retry-after": "121"}), False, "AgentError.RateLimited 1"),
    "500 once": (status(500), False, "ok 2"),
    "500": (status(500), True, "ConnectionError.ProviderUnavailable 3"),
    "529": (status(529), True, "ConnectionError.ProviderUnavailable 3"),
    "no connection once": (breaks(httpx2.ConnectError), False, "ok 2"),
    "no connection": (breaks(httpx2.ConnectError), True, "ConnectionError.NetworkError 3"),
    "reset": (breaks(httpx2.ReadError), True, "ConnectionError.NetworkError 3"),
    "time out once": (breaks(httpx2.ReadTimeout), False, "ok 2"),
    "time out": (breaks(httpx2.ReadTimeout), True, "TimeoutError.None 3"),
    "refusal": (lambda w, p: said(w, p, "", "content_filter"), False, "AgentError.ContentFiltered 1"),
    "no reply in it": (garbage, False, "AgentError.InvalidResponse 1"),
    "cut at the limit": (lambda w, p: said(w, p, '{"kind"', "length"), False, "ok 1", {"schema": "ok 2"}),
    "always cut": (lambda w, p: said(w, p, '{"kind"', "length"), True, "ok 1", {"schema": "SchemaError.MaxRetriesExceeded 3"}),
    "another text": (lambda w, p: said(w, p, "no"), False, "ok 1", {"schema": "ok 2"}),
    "always another": (lambda w, p: said(w, p, "no"), True, "ok 1", {"schema": "SchemaError.MaxRetriesExceeded 3"}),
    "half a stream": (lambda w, p: said(w, p, whole=False), False, "ok 1", {"stream": "AgentError.InvalidResponse 1"}),
}
CELLS = [(fault, path) for fault in FAULTS for path in PATHS]


class Run:
    """One call of one path, the fault in its last request."""

    def __init__(self, wire, path, fault):
        self.wire, self.path = wire, path
        self.answer, self.always = FAULTS[fault][:2]
        self.requests = 0
        self.slept = []

    def handle(self, request):
        self.requests += 1
        faulty = self.requests - (self.path == "tool")
        if faulty == 0:
            return httpx2.Response(200, json=message(self.wire, "", calls=[("T__m", '{"n": 1}')]))
        return self.answer(self.wire, self.path) if faulty == 1 or self.always else said(self.wire, self.path)

    async def sleep(self, seconds):
        self.slept.append(seconds)

    async def outcome(self):
        client = httpx2.AsyncClient(transport=httpx2.MockTransport(self.handle))
        host = Host(
            emit=lambda *given: None, print=print, env={"OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k"}, now=lambda: 0.0,
            sleep=self.sleep, random=lambda: 0.0, http_client=client,
        )  # fmt: skip
        session = Session(PROGRAM, host)
        codes = {name: PROGRAM.codes[number] for name, number in PROGRAM.image.exports.functions.items()}
        try:
            model = (await session.invoke(codes[self.wire], [])).value
            given = await session.invoke(codes[self.path], [model])
            length = (await session.invoke(codes["length"], [])).value
        finally:
            await session.aclose()
        return given.value, length


def expected(fault, path):
    cell, exceptions = FAULTS[fault][2], (*FAULTS[fault], {})[3]
    return exceptions.get(path, cell)


@pytest.mark.parametrize("wire", ["chat", "anthropic"])
@pytest.mark.parametrize(("fault", "path"), CELLS)
def test_cell(fault, path, wire):
    run = Run(wire, path, fault)
    value, length = asyncio.run(run.outcome())
    failed = type(value) is Err
    found = f"{value.value.family}.{value.value.variant}" if failed else "ok"
    assert f"{found} {run.requests - (path == 'tool')}" == expected(fault, path)
    # A failure leaves no turn; a success leaves one, whatever it took: the prompt and the answer.
    assert length == (0 if failed or path in UNWRITTEN else 2)
    if failed and found != "SchemaError.MaxRetriesExceeded":
        assert value.value.message.startswith("m-1: ")
    assert run.slept == ([7.0] if fault == "429 with a wait" else [])
