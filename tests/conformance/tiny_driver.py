"""A driver for the tests of the runner: a program's first line that begins with `//!` is a list of steps it plays.

Each step is JSON: `{"emit": [channel, json]}`, `{"count": channel}` (emits how many of these steps the process played),
`{"ask": name}` (a model request; the reply's text is emitted on `reply`), `{"sleep": ms}`, `{"idle": null}`,
`{"set": {...}}` (fields of the result), `{"say": text}`, `{"hang": seconds}`, `{"exit": status}`, `{"on": [route, steps]}`.
"""

import json
import sys
import time
from typing import Any

HELLO = {"event": "hello", "name": "tiny", "protocol": 1, "levels": [0, 1, 4, 5], "routes": ["interp", "image"]}


def send(message: dict[str, Any]) -> None:
    print(json.dumps(message), flush=True)


def read() -> dict[str, Any]:
    message: dict[str, Any] = json.loads(sys.stdin.readline() or '{"op": "bye"}')
    return message


class Play:
    counted = 0

    def __init__(self, message: dict[str, Any]) -> None:
        self.run, self.route = message["id"], message.get("route")
        self.n = self.to = 0
        self.now = message.get("now", 0)
        self.result: dict[str, Any] = {"status": "ok", "exit": 0, "fuel": 1}

    def steps(self, steps: list[dict[str, Any]]) -> None:
        for step in steps:
            for name, value in step.items():
                getattr(self, name)(value)

    def emit(self, value: list[str]) -> None:
        send({"id": self.run, "event": "emit", "n": self.n, "channel": value[0], "json": value[1]})
        self.n += 1

    def count(self, channel: str) -> None:
        """The state between runs that a driver must not have (C-8.7)."""
        Play.counted += 1
        self.emit([channel, str(Play.counted)])

    def ask(self, name: str) -> None:
        self.to += 1
        record = {"messages": [{"role": "user", "content": f"ask {self.to}"}]}
        request = {"to": self.to, "kind": "model", "name": name, "attempt": 1, "record": record, "wire": '{"a": 1}'}
        send({"id": self.run, "event": "request", **request, "headers": {}})
        body = self.wait(None)
        if body is not None:
            self.emit(["reply", json.dumps(body.get("body", {}).get("text", body.get("fault")), separators=(",", ":"))])

    def wait(self, until: int | None) -> dict[str, Any] | None:
        send({"id": self.run, "event": "idle", "until": until})
        reply = None
        while (message := read())["op"] != "tick":
            if message["op"] == "cancel":
                self.result["status"] = "cancelled"
                return None
            reply = message
        self.now = message["now"]
        return reply if reply or until is not None else self.wait(None)

    def sleep(self, ms: int) -> None:
        self.wait(self.now + ms)
        self.emit(["now", str(self.now)])

    def idle(self, value: None) -> None:
        self.wait(None)

    def say(self, text: str) -> None:
        print(text, flush=True)

    def hang(self, seconds: float) -> None:
        time.sleep(seconds)

    def exit(self, status: int) -> None:
        sys.stderr.write("the last words\n")
        sys.exit(status)

    def on(self, value: list[Any]) -> None:
        if value[0] == self.route:
            self.steps(value[1])

    def set(self, value: dict[str, Any]) -> None:
        self.result.update(value)


def script(message: dict[str, Any]) -> list[dict[str, Any]]:
    for line in message.get("files", {}).get("main.conc", "").splitlines():
        if line.startswith("//!"):
            steps: list[dict[str, Any]] = json.loads(line[3:])
            return steps
    return []


while (message := read())["op"] != "bye":
    if message["op"] == "hello":
        send(HELLO)
    elif message["op"] == "compile":
        send({"id": message["id"], "status": "ok", "image": "AAECAw=="})
    elif message["op"] == "load":
        broken = message["image"] != "AAECAw=="
        answer = {"status": "rejected", "code": "V003", "stage": "load", "exit": 74} if broken else {"status": "ok"}
        send({"id": message["id"], **answer})
    elif message["op"] in ("run", "check"):
        play = Play(message)
        play.steps(script(message))
        send({"id": message["id"], **play.result})
