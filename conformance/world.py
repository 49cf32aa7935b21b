"""The scripted world of one run: providers, servers, agents, HTTP, host answers and the virtual clock (C-8.4, C-8.5).

Hands on `World` to the runner. It takes the driver's events, sends replies and ticks, and keeps what it saw in an `Observation`.
Expectations are not known here. A new event is a row of `handlers`, a new kind of scripted line a case of `scripted`.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .notation import text_of
from .records import Json, Line, Observation, Program, Reply

Send = Callable[[Json], None]


class World:
    """The world of one run. `seen` gets emits, requests and problems; `send` sends a message to the driver. `now` is the clock in
    milliseconds since 1970. `waiting` are replies that come later: when, the number of their request, and the messages. `sent`: a
    reply has gone out since the last `idle`; `call_ids` counts the calls of tools without an id of their own. The program is not
    changed."""

    def __init__(self, program: Program, seen: Observation, send: Send) -> None:
        self.program, self.seen, self.send = program, seen, send
        self.now = program.now
        self.replies = {name: list(queue) for name, queue in program.replies.items()}
        self.scripts = {key: list(lines) for key, lines in program.scripts.items()}
        self.waiting: list[tuple[int, int, list[Json]]] = []
        self.sent = self.cancelled = False
        self.call_ids = 0
        self.handlers: dict[str, Callable[[Json], None]] = {
            "emit": self.emit, "request": self.request, "abort": self.abort, "idle": self.idle,
        }  # fmt: skip

    def event(self, message: Json) -> None:
        """Take one event of the driver; an unknown one is a problem."""
        handler = self.handlers.get(str(message["event"]))
        if handler:
            handler(message)
        else:
            self.problem(0, "an event of the protocol", text_of(message))

    def problem(self, at: int, expected: str, came: str) -> None:
        """Note what is wrong, as the fields of a `Failure`."""
        self.seen.problems.append((at, expected, came))

    def emit(self, message: Json) -> None:
        """Keep an emit; its number must be the next one."""
        n, expected = message.get("n"), len(self.seen.emits)
        if n != expected:
            self.problem(0, f"emit number {expected}", f"emit number {n}")
        self.seen.emits.append((str(message.get("channel")), str(message.get("json"))))

    def request(self, message: Json) -> None:
        """Keep a request and answer it by the script; its number must be the next one."""
        self.seen.requests.append(message)
        if message.get("to") != len(self.seen.requests):
            self.problem(0, f"request number {len(self.seen.requests)}", f"request number {message.get('to')}")
        kind, name = str(message.get("kind")), str(message.get("name"))
        if kind == "model":
            self.model(message, name)
            return
        record = message.get("record") or {}
        if kind == "http":
            name = f"{record.get('method')} {record.get('url')}"
        self.scripted(message, kind, name, record)

    def model(self, message: Json, name: str) -> None:
        """Answer a request to the model `name` with its next reply, or the next one for any model."""
        queue = self.replies.get(name) or self.replies.get("") or []
        if not queue:
            self.unexpected(message, f"model {name}")
            return
        reply = queue.pop(0)
        stream = bool((message.get("record") or {}).get("stream"))
        self.schedule(message, reply.after, self.bodies(reply, stream))

    def unexpected(self, message: Json, what: str) -> None:
        """Note a request that the script does not have, and answer it with a fault."""
        self.problem(0, f"no further request to {what}", f"unexpected request {text_of(message.get('record'))[:300]}")
        self.schedule(message, 0, [{"fault": {"kind": "garbage"}, "final": True}])

    def bodies(self, reply: Reply, stream: bool) -> list[Json]:
        """Return the messages of one scripted reply: the chunks if the request streams, then the end."""
        chunks = reply.chunks or ()
        parts: list[Json] = [{"body": {"text": chunk}, "final": False} for chunk in chunks] if stream else []
        if reply.fault:
            return [*parts, {"fault": dict(reply.fault), "final": True}]
        calls = [self.call(*call) for call in reply.calls]
        body = {
            "text": reply.text if reply.chunks is None or stream else "".join(chunks),
            "calls": calls,
            "finish": reply.finish or ("tool" if calls else "stop"),
            "tokens_in": reply.usage[0],
            "tokens_out": reply.usage[1],
        }
        return [*parts, {"body": body, "final": True}]

    def call(self, name: str, arguments: str, call_id: str | None) -> Json:
        """Return a call of a tool as a reply has it; one without id gets the next."""
        if call_id is None:
            self.call_ids += 1
            call_id = f"c{self.call_ids}"
        return {"id": call_id, "name": name, "arguments": json.loads(arguments)}

    def scripted(self, message: Json, kind: str, name: str, record: Json) -> None:
        """Answer a request to anything but a model with the next line of its script; the list of an MCP server's tools has them
        all."""
        lines = self.scripts.get((kind, name)) or self.scripts.get((kind, "")) or []
        if kind == "mcp" and record.get("op") == "list":
            tools = [line.body for line in lines if line.word == "tool"]
            lines[:] = [line for line in lines if line.word != "tool"]
            self.schedule(message, 0, [{"body": {"tools": tools}, "final": True}])
        elif not lines:
            self.unexpected(message, f"{kind} {name}")
        elif kind == "agent":
            self.agent(message, lines)
        else:
            line = lines.pop(0)
            if line.word != "silence":
                self.schedule(message, 0, [_line_reply(line)])

    def agent(self, message: Json, lines: list[Line]) -> None:
        """Answer a prompt with the lines up to the one that ends the call, an exit, or silence. They are taken out of `lines`."""
        parts: list[Json] = []
        while lines:
            line = lines.pop(0)
            if line.word == "silence":
                break
            final = line.word == "exit" or _is_terminal(line.body)
            parts.append({"body": {line.word: line.body}, "final": final})
            if final:
                break
        if parts:
            self.schedule(message, 0, parts)

    def schedule(self, message: Json, after: int, parts: list[Json]) -> None:
        """Send the messages of a reply at once, or after some milliseconds."""
        to = int(message.get("to") or 0)
        replies = [{"op": "reply", "to": to, **part} for part in parts]
        if after:
            self.waiting.append((self.now + after, to, replies))
        else:
            self.deliver(replies)

    def deliver(self, replies: list[Json]) -> None:
        """Send messages to the driver."""
        for reply in replies:
            self.send(reply)
        self.sent = True

    def abort(self, message: Json) -> None:
        """Drop the replies that wait for a request which the driver has given up."""
        self.waiting = [entry for entry in self.waiting if entry[1] != message.get("to")]

    def idle(self, message: Json) -> None:
        """Answer a driver whose tasks all wait. If no reply has gone out since the last time, let the clock jump to the next
        reply or to the time that the driver waits for, and send the replies that are due. Then send the time, or cancel the run
        if nothing is to come."""
        if not self.sent:
            due = [entry[0] for entry in self.waiting]
            if message.get("until") is not None:
                due.append(int(message["until"]))
            if not due:
                self.deadlock()
                return
            self.now = max(self.now, min(due))
            ready = sorted(entry for entry in self.waiting if entry[0] <= self.now)
            self.waiting = [entry for entry in self.waiting if entry[0] > self.now]
            for _, _, replies in sorted(ready, key=lambda entry: entry[1]):
                self.deliver(replies)
        self.sent = False
        self.send({"op": "tick", "now": self.now})

    def deadlock(self) -> None:
        """Note a run that waits for nothing that will come, and cancel it."""
        if not self.cancelled:
            self.problem(0, "a task that can run, a timer, or a reply under way", "deadlock")
        self.cancelled = True
        self.send({"op": "cancel"})

    def close(self) -> None:
        """Note the replies and lines that nobody asked for (C-4.4)."""
        for queue in self.replies.values():
            for reply in queue:
                self.problem(reply.at, "a request that takes this reply", "unused reply")
        for lines in self.scripts.values():
            for line in lines:
                if line.word != "tool":
                    self.problem(line.at, "a request that takes this line", "unused reply")


def _line_reply(line: Line) -> Json:
    if line.word == "fault":
        return {"fault": line.body, "final": True}
    if line.word == "gone":
        return {"fault": {"kind": "gone"}, "final": True}
    return {"body": line.body, "final": True}


def _is_terminal(text: Any) -> bool:
    """Return whether a line of an agent ends an exchange: all do but objects of another type (O-7.31, O-7.33), and, of messages
    of ACP, those without an id."""
    try:
        message = json.loads(text)
    except (TypeError, ValueError):
        return True
    if isinstance(message, dict) and "jsonrpc" in message:
        return "id" in message
    kind = message.get("type") if isinstance(message, dict) else None
    return not isinstance(kind, str) or kind in ("result", "error")
