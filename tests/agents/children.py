"""Small children for the tests: each a Python program given as text, started for real."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from typing import Any

from concerto.runtime.agents.child import Child
from concerto.runtime.agents.messages import AgentSettings, Unanswered
from concerto.runtime.agents.process import AgentProcess
from concerto.runtime.errors import CallFailure

ECHO = "import sys\nfor line in sys.stdin: print('got', line, end='', flush=True)"
JSON = """
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    print(json.dumps({"type": "result", "in_reply_to": asked["id"], "text": asked["prompt"].upper(), "n": 1}), flush=True)
"""


def arguments(source: str) -> list[str]:
    return [sys.executable, "-I", "-S", "-c", source]


class Deaf:
    """Hears intermediate messages and answers none."""

    def __init__(self, listens: bool = False, answer: Callable[[dict[str, Any]], Any] = lambda message: None) -> None:
        self.listens = listens
        self.messages: list[dict[str, Any]] = []
        self._answer = answer

    def handles(self, message_type: str) -> bool:
        return False

    async def ask(self, channel: str, payload: dict[str, Any]) -> Any:
        raise Unanswered(False)

    async def on_message(self, message: dict[str, Any]) -> Any:
        self.messages.append(message)
        return self._answer(message)


def agent(source: str, *, command: list[str] | None = None, params: dict[str, Any] | None = None, **fields: Any) -> AgentProcess:
    settings = AgentSettings("A", {"connector": "a", **fields}, {}, {"command": "x", "params": params or {}})

    async def launch() -> Child:
        try:
            return await Child.start(command or arguments(source), {"PATH": os.environ["PATH"]}, ".")
        except OSError as error:
            raise settings_failure(settings, error) from None

    return AgentProcess(settings, launch)


def settings_failure(settings: AgentSettings, error: OSError) -> CallFailure:
    return CallFailure("AgentError", "SpawnFailed", f"{settings.name}: {error.strerror}")


def asked(made: AgentProcess, *prompts: str, listener: Deaf | None = None, context: Any = ()) -> list[Any]:
    """(text, data) per prompt, a CallFailure where one comes; the process is ended afterwards."""

    async def all_of_them() -> list[Any]:
        found: list[Any] = []
        try:
            for prompt in prompts:
                try:
                    answer = await made.exchange(prompt, context, listener or Deaf())
                    found.append((answer.text, answer.data))
                except CallFailure as failure:
                    found.append(failure)
        finally:
            await made.stop()
        return found

    return run(all_of_them())


def run(work: Awaitable[Any]) -> Any:
    async def main() -> Any:
        return await work

    return asyncio.run(main())


def gone(pid: int) -> bool:
    """Whether a process has ended and was reaped, or only its parent is left to do so."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] in "ZX"
    except FileNotFoundError:
        return True
