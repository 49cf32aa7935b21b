#!/usr/bin/env python3
"""The mutant driver: `mutant.py KIND ROUTE CMD...` runs CMD as a driver and changes one of its answers per run (C-9.4).

`selftest.py` starts it, and lists in its own `KINDS` on which programs each kind is tried. A kind of ROUTE_KINDS changes only
answers on ROUTE, so that the comparison of routes must see it. The result of a changed run carries `"mutated": true`, which tells
the self-test that there was something to find. A new kind is a name in KINDS and a place that asks `strikes` for it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

EMIT_KINDS = ("emit-drop", "emit-add", "emit-swap", "emit-alter")
DIAGNOSTIC_KINDS = ("diagnostic-drop", "diagnostic-move", "diagnostic-code", "diagnostic-stage")
REQUEST_KINDS = ("request-drop", "request-double")
ROUTE_KINDS = ("request-alter", "memory", "fuel", "result")
KINDS = (*EMIT_KINDS, *DIAGNOSTIC_KINDS, *REQUEST_KINDS, *ROUTE_KINDS, "status")
STAGES = ("parse", "names", "types", "flow", "declare")


class Mutant:
    """Passes lines both ways and changes at most one thing between a run's first message and its result. `active` says whether
    the run may be changed, `changed` whether it has been; `held` is an emit that waits to be swapped; `doubled` are the numbers
    of requests that the mutant has sent a second time."""

    def __init__(self, kind: str, route: str, command: list[str]) -> None:
        self.kind, self.route = kind, route
        pipe = subprocess.PIPE
        self.child = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, encoding="utf-8")
        self.lock = threading.Lock()
        self.begin({})

    def begin(self, message: dict[str, Any]) -> None:
        """Prepare for a new run: nothing is changed yet. `message` is what the runner asks for."""
        self.runs = message.get("op") == "run"
        self.active = self.kind not in ROUTE_KINDS or (self.runs and message.get("route") == self.route)
        self.changed = False
        self.emitted = 0
        self.held: dict[str, Any] | None = None
        self.doubled: set[int] = set()

    def to_child(self, message: dict[str, Any]) -> None:
        """Send a message to the driver."""
        assert self.child.stdin
        with self.lock:
            self.child.stdin.write(json.dumps(message, ensure_ascii=False) + "\n")
            self.child.stdin.flush()

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to the runner."""
        sys.stdout.write(json.dumps(message, ensure_ascii=False) + "\n")
        sys.stdout.flush()

    def strikes(self, *kinds: str) -> bool:
        """Return whether this run is still to be changed by one of these kinds; the run counts as changed then, so it is true
        once."""
        if self.kind in kinds and self.active and not self.changed:
            self.changed = True
            return True
        return False

    def downward(self) -> None:
        """Pass the messages of the runner to the driver until they end, but for replies to doubled requests; close its input
        then."""
        for line in sys.stdin:
            message = json.loads(line)
            if message.get("op") in ("run", "check", "compile", "load", "resume"):
                self.begin(message)
            if not (message.get("op") == "reply" and message.get("to") in self.doubled):
                self.to_child(message)
        assert self.child.stdin
        self.child.stdin.close()

    def upward(self) -> int:
        """Pass the messages of the driver to the runner, with the change, until it ends; return its exit status. A second thread
        runs `downward`."""
        threading.Thread(target=self.downward, daemon=True).start()
        assert self.child.stdout
        for line in self.child.stdout:
            message = json.loads(line)
            if message.get("event") == "emit":
                self.emit(message)
                continue
            self.flush()
            if message.get("event") == "request":
                self.request(message)
            elif "status" in message:
                self.result(message)
            else:
                self.send(message)
        return self.child.wait()

    def emit(self, message: dict[str, Any]) -> None:
        """Pass an emit on, perhaps dropped, altered or held back. Emits of the runtime are never changed."""
        if ":" in message["channel"] or message["channel"] == "panic":
            self.flush()
            self.numbered(message)
        elif self.strikes("emit-drop"):
            return
        elif self.kind == "emit-swap" and not self.changed:
            self.swap(message)
        else:
            if self.strikes("emit-alter"):
                message["json"] = '"altered"' if message["json"] != '"altered"' else "0"
            self.numbered(message)

    def swap(self, message: dict[str, Any]) -> None:
        """Hold an emit back until a different one follows at once, then send that one first."""
        held, self.held = self.held, message
        if held is None:
            return
        if (held["channel"], held["json"]) == (message["channel"], message["json"]):
            self.numbered(held)
            return
        self.changed, self.held = True, None
        self.numbered(message)
        self.numbered(held)

    def flush(self) -> None:
        """Send the emit that is held back, if there is one."""
        held, self.held = self.held, None
        if held is not None:
            self.numbered(held)

    def numbered(self, message: dict[str, Any]) -> None:
        """Send an emit with the next number."""
        message["n"] = self.emitted
        self.emitted += 1
        self.send(message)

    def request(self, message: dict[str, Any]) -> None:
        """Pass a request on, or drop it and answer it, alter its last message, or send it twice."""
        if message.get("kind") == "model" and self.strikes("request-drop"):
            body = {"text": "", "calls": [], "finish": "stop", "tokens_in": 0, "tokens_out": 0}
            self.to_child({"id": message["id"], "op": "reply", "to": message["to"], "body": body, "final": True})
            return
        messages = (message.get("record") or {}).get("messages")
        if messages and self.strikes("request-alter"):
            messages[-1]["content"] = str(messages[-1].get("content")) + "."
        self.send(message)
        if message.get("kind") == "model" and self.strikes("request-double"):
            self.doubled.add(-message["to"])
            self.send({**message, "to": -message["to"]})

    def result(self, message: dict[str, Any]) -> None:
        """Pass a result on with what changes it; it says whether the run has been changed. The message is changed in place."""
        if self.runs and self.strikes("emit-add"):
            self.numbered({"id": message["id"], "event": "emit", "channel": "mutant", "json": "0"})
        self.diagnostics(message)
        if message.get("memories") and self.strikes("memory"):
            next(iter(message["memories"].values())).append({"role": "user", "content": "mutant"})
        if message.get("fuel") is not None and self.strikes("fuel"):
            message["fuel"] += 1
        if self.strikes("result"):
            message["asserts"] = (message.get("asserts") or 0) + 1
        if self.strikes("status"):
            message["status"] = "error" if message["status"] == "ok" else "ok"
        self.send({**message, "mutated": self.changed})

    def diagnostics(self, message: dict[str, Any]) -> None:
        """Change the first error of a result in place, if the kind is one of DIAGNOSTIC_KINDS."""
        errors = [d for d in message.get("diagnostics") or [] if d["code"][:1] == "E"]
        if not errors or not self.strikes(*DIAGNOSTIC_KINDS):
            return
        first = errors[0]
        if self.kind == "diagnostic-drop":
            message["diagnostics"].remove(first)
        elif self.kind == "diagnostic-move":
            first["line"] += 1
        elif self.kind == "diagnostic-code":
            first["code"] = first["code"][:-1] + str((int(first["code"][-1]) + 1) % 10)
        else:
            first["stage"] = STAGES[(STAGES.index(first["stage"]) + 1) % len(STAGES)]


if __name__ == "__main__":
    if len(sys.argv) < 4 or sys.argv[1] not in KINDS:
        sys.exit(f"usage: mutant.py KIND ROUTE CMD...\nkinds: {' '.join(KINDS)}")
    sys.exit(Mutant(sys.argv[1], sys.argv[2], sys.argv[3:]).upward())
