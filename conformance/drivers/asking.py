"""What the driver puts in the place of the world: models, agents, MCP servers and HTTP that the runner plays (C-8.4).

Hands on to `concerto.py` `Runner`, the classes that ask it (`AskingProvider`, `AskingChild`, `AskingServer`, `AskingNetwork`),
`answered`, and `send` and `receive`, the two ends of the protocol. Each request becomes an event with a number of its own, and
the `reply` that names the number is its answer. A request whose answer is not waited for any more is followed by `abort`. The
classes keep the contracts of those of the implementation whose place they take. A new kind of request is a class that calls
`Runner.ask`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from concerto.runtime.access.http_messages import HttpFailure, HttpReply, HttpRequest
from concerto.runtime.agents.child import ChildEnded
from concerto.runtime.connections import resolve_key
from concerto.runtime.errors import CallFailure, Origin
from concerto.runtime.host import NoListener
from concerto.runtime.mcp.questions import Caller, Question
from concerto.runtime.mcp.resources import Part, PromptPart, ServedPrompt, ServedResource, decoded
from concerto.runtime.mcp.served import Answer, McpSettings, ServedTool, ServerFailure
from concerto.runtime.providers.base import Provider, origin_of, timed_out
from concerto.runtime.records import Call, Reply, Request
from concerto.runtime.schema.lenient_json import compact_json
from concerto.vm.values import from_json, to_json
from concerto.vm.values.media import content_of

Json = dict[str, Any]


def send(message: Json) -> None:
    """Write one message to the runner, at once."""
    sys.stdout.write(json.dumps(message, ensure_ascii=False, separators=(",", ":")) + "\n")
    sys.stdout.flush()


def receive() -> Json:
    """Return the next message of the runner. End the process with status 0 when there is none."""
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: Json = json.loads(line)
    return message


class Runner:
    """What one run has asked of the runner, and who waits for its replies. `id` is that of the run; `requests` counts its
    requests, `calls` by name the calls of models, agents and tools, `attempts` by request id how often it was sent. `waiting` has
    by number the requests that get one reply, `streams` those that get several."""

    def __init__(self, number: int) -> None:
        self.id = number
        self.requests = 0
        self.calls: dict[str, int] = {}
        self.attempts: dict[str, int] = {}
        self.waiting: dict[int, asyncio.Future[Json]] = {}
        self.streams: dict[int, asyncio.Queue[Json]] = {}  # of requests that get several replies

    def ask(
        self, kind: str, name: str, record: Json, attempt: int = 1, wire: str | None = None, headers: Json | None = None
    ) -> int:
        """Send a request and return its number, which replies name. `record` is the request as data, `wire` the body as it would
        be sent, None where there is none."""
        self.requests += 1
        send({
            "id": self.id, "event": "request", "to": self.requests, "kind": kind, "name": name, "attempt": attempt,
            "record": record, "wire": wire, "headers": headers or {},
        })  # fmt: skip
        return self.requests

    def called(self, name: str) -> None:
        """Count a call of a model, agent or tool."""
        self.calls[name] = self.calls.get(name, 0) + 1

    def abort(self, to: int) -> None:
        """Tell the runner that the reply to a request is not waited for any more."""
        send({"id": self.id, "event": "abort", "to": to})

    async def reply(self, to: int, seconds: float | None = None) -> Json:
        """Wait for the reply to the request of number `to` and return it. Raise TimeoutError after `seconds`, None for no limit.
        The request is aborted then, and also when the task is cancelled."""
        future = self.waiting[to] = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(seconds):
                return await future
        finally:
            if not future.done() or future.cancelled():
                self.abort(to)

    def give(self, message: Json) -> None:
        """Hand a reply that has come to whoever waits for it; drop one that nobody waits for."""
        if message["to"] in self.streams:
            self.streams[message["to"]].put_nowait(message)
            return
        future = self.waiting.pop(message["to"], None)
        if future is not None and not future.done():
            future.set_result(message)


async def answered(runner: Runner, channel: str, value: Any) -> Any:
    """Return the host's answer to an awaited emit, which the runner gives. Raise NoListener where nobody listens, RuntimeError
    for any other fault."""
    message = await runner.reply(runner.ask("answer", channel, {"channel": channel, "payload": json.loads(to_json(value))}))
    fault = message.get("fault")
    if fault is None:
        return from_json(message["body"]["payload"])
    if fault["kind"] == "no-listener":
        raise NoListener
    raise RuntimeError(fault.get("message", fault["kind"]))


class AskingProvider(Provider):
    """A provider that lowers requests as the connection's own provider, `real`, does, and gets its replies from the runner."""

    def __init__(self, runner: Runner, real: Provider, env: dict[str, str], redactor: Any) -> None:
        self.runner = runner
        self.real = real
        self.env = env
        self.redactor = redactor
        self.settings = real.settings
        self.name = real.settings.name

    async def send(self, request: Request) -> Reply:
        origin = origin_of(request)
        to = self.announce(request, origin)
        try:
            return reply_of(await self.runner.reply(to, request.limits.call), origin, request)
        except TimeoutError:
            raise timed_out(request, "total") from None

    async def stream(self, request: Request, give: Callable[[str], Awaitable[None]]) -> Reply:
        origin = origin_of(request)
        to = self.announce(request, origin)
        parts = self.runner.streams[to] = asyncio.Queue()
        text, final = "", False
        limit, limits = "first", request.limits
        seconds, begun = limits.first, asyncio.get_running_loop().time()
        try:
            while True:
                left = limits.total - (asyncio.get_running_loop().time() - begun)
                if left < seconds:
                    limit, seconds = "total", left
                async with asyncio.timeout(seconds):
                    message = await parts.get()
                if limit != "total":
                    limit, seconds = "idle", limits.idle
                final = message.get("final", True)
                if final:
                    reply = reply_of(message, origin, request)
                    await give(reply.text)
                    reply.text = text + reply.text
                    return reply
                text += message["body"]["text"]
                await give(message["body"]["text"])
        except TimeoutError:
            raise timed_out(request, limit) from None
        finally:
            del self.runner.streams[to]
            if not final:
                self.runner.abort(to)

    def announce(self, request: Request, origin: Origin) -> int:
        """Send a request to the runner and return its number. Raise CallFailure if the key is missing."""
        resolve_key(self.settings, self.env, self.redactor, origin)
        arguments = self.real.lower(request)
        runner, name = self.runner, request.id.rpartition("-")[0]
        runner.called(name)
        runner.attempts[request.id] = runner.attempts.get(request.id, 0) + 1
        headers = {"authorization": "Bearer <secret>", **arguments.pop("extra_headers", {})}
        body = {**arguments, **arguments.pop("extra_body", {})}
        body.pop("extra_body", None)
        return runner.ask("model", name, request.as_json(), runner.attempts[request.id], compact_json(body), headers)


PROJECT = "/the/project"


class AskingChild:
    """The process of an agent, played by the runner: a prompt is a request, and each reply is a line or the end of the process.
    `asked` are the numbers of its requests. The runner knows `folder`, where it runs, as PROJECT: it is another one in each
    run."""

    stderr = ""

    def __init__(self, runner: Runner, name: str, folder: str) -> None:
        self.runner = runner
        self.name = name
        self.folder = folder
        self.exit_code: int | None = None
        self.lines: asyncio.Queue[Json] = asyncio.Queue()
        self.asked: list[int] = []

    @property
    def ended(self) -> bool:
        return self.exit_code is not None

    async def has_ended(self) -> bool:
        return self.ended

    async def write(self, text: str) -> None:
        """Send a line of the agent's input as a request. An answer to a question of the agent is none: the lines after it belong
        to the prompt; but for ACP, where all but notifications are."""
        notifies = text.startswith('{"jsonrpc"') and '"id":' not in text.partition('"params"')[0]
        if notifies or text.startswith('{"type":"response"'):
            return
        self.runner.called(self.name)
        line = text.removesuffix("\n").replace(f'"{self.folder}"', f'"{PROJECT}"')
        to = self.runner.ask("agent", self.name, {"op": "send", "line": line})
        self.runner.streams[to] = self.lines
        self.asked.append(to)

    async def line(self) -> str:
        body = (await self.lines.get())["body"]
        if "exit" in body:
            self.exit_code = body["exit"]
            raise ChildEnded
        return body["line"] if isinstance(body["line"], str) else compact_json(body["line"])

    async def end_of_output(self) -> None:
        self._close()

    async def stop(self) -> None:
        if self.exit_code is None:
            self.exit_code = -15
        self._close()

    def _close(self) -> None:
        for to in self.asked:
            if self.runner.streams.pop(to, None) is not None:
                self.runner.abort(to)


class AskingServer:
    """An MCP server, played by the runner. A result that is a string is the text of an answer, any other its structured content;
    that of a resource, a prompt or a list is the result of the protocol. It raises ServerFailure after the time limit, and for a
    server that has ended."""

    def __init__(self, runner: Runner, settings: McpSettings) -> None:
        self.runner = runner
        self.settings = settings

    async def tools(self) -> list[ServedTool]:
        body = await self._asked({"op": "list"})
        return [ServedTool(tool["name"], tool.get("description") or "", tool.get("schema") or {}) for tool in body["tools"]]

    async def call(self, name: str, arguments: Json, caller: Caller) -> Answer:
        body = await self._told({"op": "call", "method": name, "arguments": arguments}, caller)
        value = body["error"] if "error" in body else body["result"]
        texts = [value] if isinstance(value, str) else []
        return Answer(None if texts else value, texts, "error" in body)

    async def resources(self) -> list[ServedResource]:
        rows = self._result(await self._asked({"op": "resources"}))["resources"]
        keys = ("title", "description", "mimeType", "size")
        return [ServedResource(row["uri"], row["name"], *map(row.get, keys)) for row in rows]

    async def read(self, uri: str, caller: Caller) -> list[Part]:
        rows = self._result(await self._told({"op": "read", "uri": uri}, caller))["contents"]
        return [Part(row["text"]) if "text" in row else Part(None, decoded(row["blob"], f"the resource {uri}")) for row in rows]

    async def prompts(self) -> list[ServedPrompt]:
        rows = self._result(await self._asked({"op": "prompts"}))["prompts"]
        return [
            ServedPrompt(
                row["name"], row.get("title"), row.get("description"),
                [(one["name"], one.get("description"), one.get("required", False)) for one in row.get("arguments", ())],
            )
            for row in rows
        ]  # fmt: skip

    async def prompt(self, name: str, arguments: dict[str, str], caller: Caller) -> list[PromptPart]:
        rows = self._result(await self._told({"op": "prompt", "name": name, "arguments": arguments}, caller))["messages"]
        parts = []
        for row in rows:
            content = row["content"]
            media = [content_of(content["type"], decoded(content["data"], name))] if "data" in content else []
            parts.append(PromptPart(row["role"], content.get("text", ""), media))
        return parts

    def _result(self, body: Json) -> Json:
        """Return the result of a reply. ServerFailure where it is an error."""
        if "error" in body:
            raise ServerFailure(f"mcp {self.settings.name}: {body['error']}", "ExecutionFailed")
        result: Json = body["result"]
        return result

    async def _told(self, record: Json, caller: Caller) -> Json:
        """Return the reply to a request. A question that comes before it is asked, and progress told; then the runner is asked
        for what comes next."""
        while True:
            body = await self._asked(record)
            if "elicit" in body:
                asked = body["elicit"]
                reply = await caller.reply(Question(asked["message"], asked.get("requestedSchema"), asked.get("url")))
                record = {"op": "answer", "action": reply.action, "content": reply.content}
            elif "progress" in body:
                row = body["progress"]
                caller.progress(row["progress"], row.get("total"), row.get("message"))
                record = {"op": "wait"}
            else:
                return body

    async def aclose(self) -> None:
        """Do nothing: there is nothing to close."""

    async def _asked(self, record: Json) -> Json:
        name, seconds = self.settings.name, self.settings.timeout
        try:
            message = await self.runner.reply(self.runner.ask("mcp", name, record), seconds)
        except TimeoutError:
            raise ServerFailure(f"mcp {name}: no answer within {seconds:g} s", "Timeout") from None
        if message.get("fault") is not None:
            raise ServerFailure(f"mcp {name} has ended", gone=True)
        body: Json = message["body"]
        return body


class AskingNetwork:
    """A network whose HTTP replies come from the runner. Every name has a public address, except `localhost`."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner

    async def resolve(self, host: str, port: int) -> list[str]:
        return ["127.0.0.1" if host == "localhost" else "93.184.215.14"]

    async def exchange(self, request: HttpRequest, address: str) -> HttpReply:
        target = request.target
        record = {"method": request.method, "url": target.url, "headers": dict(request.headers), "body": request.body}
        return http_reply_of(await self.runner.reply(self.runner.ask("http", target.host, record)), target.host)


def http_reply_of(message: Json, host: str) -> HttpReply:
    """Return the HTTP reply in a message of the runner. Raise HttpFailure for a fault other than a status."""
    fault = message.get("fault")
    if fault is None:
        body = message["body"]
        return HttpReply(body["status"], (body.get("headers") or {}).items(), (body.get("body") or "").encode())
    if fault["kind"] == "status":
        return HttpReply(fault["status"], (), b"")
    variant = "Timeout" if fault["kind"] == "timeout" else "Network"
    raise HttpFailure(variant, f"{host}: {fault['kind']}")


def reply_of(message: Json, origin: Origin, request: Request) -> Reply:
    """Return the reply of a model in a message of the runner. Raise CallFailure for a fault or a refusal."""
    fault = message.get("fault")
    if fault is not None:
        raise failure_of(fault, origin)
    body = message["body"]
    if body.get("finish") == "refusal":
        raise origin.filtered(body.get("text") or "refused")
    return Reply(
        body.get("text", ""),
        calls=[call_of(call) for call in body.get("calls") or ()],
        finish=body.get("finish", "stop"),
        model=body.get("model") or request.model,
        tokens_in=body.get("tokens_in", 0),
        tokens_out=body.get("tokens_out", 0),
    )


def call_of(call: Json) -> Call:
    """Return the call of a tool in a reply; its arguments are a JSON object, or a text that is none."""
    arguments = call["arguments"]
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
    return Call(call["id"], call["name"], arguments if isinstance(arguments, dict) else None, text)


def failure_of(fault: Json, origin: Origin) -> CallFailure:
    """Return the failure that a fault of the script means."""
    kind = fault["kind"]
    if kind == "timeout":
        return origin.timed_out()
    if kind in ("reset", "truncated"):
        return origin.network(f"connection {kind}")
    if kind == "status":
        after = fault.get("retry_after")
        return origin.of_status(fault["status"], f"status {fault['status']}", None if after is None else round(after * 1000))
    return origin.invalid_response("not a reply")
