"""An agent by the agent side of the Python SDK of ACP, run as a process. The words of a prompt say what it does in its turn."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import acp
from acp.schema import AgentCapabilities, PermissionOption, PromptCapabilities, ToolCallUpdate


class Agent:
    def on_connect(self, client: Any) -> None:
        self.client = client

    async def initialize(self, protocol_version: int, client_capabilities: Any = None, **_: Any) -> Any:
        self.files = client_capabilities.fs
        takes = PromptCapabilities(image=True)
        return acp.InitializeResponse(
            protocol_version=protocol_version, agent_capabilities=AgentCapabilities(prompt_capabilities=takes)
        )

    async def new_session(self, cwd: str, **more: Any) -> Any:
        self.told = {"cwd": cwd, **more}
        self.turns = 0
        return acp.NewSessionResponse(session_id="s1")

    async def cancel(self, session_id: str, **_: Any) -> None:
        print("cancelled", file=sys.stderr, flush=True)
        self.waiting.set()

    async def prompt(self, prompt: list[Any], session_id: str, **_: Any) -> Any:
        self.turns += 1
        self.waiting = asyncio.Event()
        words = next(block.text for block in prompt if block.type == "text").split()
        stop = "end_turn"
        for word in words:
            name, _, argument = word.partition("=")
            stop = await getattr(self, name)(session_id, argument) or stop
        return acp.PromptResponse(stop_reason=stop)

    async def say(self, session: str, text: str) -> None:
        await self.client.session_update(session, acp.update_agent_message_text(text))

    async def think(self, session: str, text: str) -> None:
        await self.client.session_update(session, acp.update_agent_thought_text(text))

    async def work(self, session: str, title: str) -> None:
        await self.client.session_update(session, acp.start_tool_call("t1", title))

    async def count(self, session: str, _: str) -> None:
        await self.say(session, str(self.turns))

    async def tell(self, session: str, name: str) -> None:
        await self.say(session, str(self.told.get(name)))

    async def ask(self, session: str, kinds: str) -> None:
        options: Any = [PermissionOption(option_id=kind, name=kind, kind=kind) for kind in kinds.split(",")]  # type: ignore[arg-type]
        answer = await self.client.request_permission(
            session_id=session, tool_call=ToolCallUpdate(tool_call_id="t1"), options=options
        )
        await self.say(session, getattr(answer.outcome, "option_id", None) or answer.outcome.outcome)

    async def read(self, session: str, path: str) -> None:
        try:
            await self.say(session, (await self.client.read_text_file(session_id=session, path=path)).content)
        except acp.RequestError as error:
            await self.say(session, f"{error.code} {error}")

    async def write(self, session: str, path: str) -> None:
        try:
            await self.client.write_text_file(session_id=session, path=path, content="written")
        except acp.RequestError as error:
            await self.say(session, f"{error.code} {error}")

    async def offered(self, session: str, _: str) -> None:
        await self.say(session, f"{self.files.read_text_file} {self.files.write_text_file}")

    async def terminal(self, session: str, command: str) -> None:
        try:
            await self.client.create_terminal(session_id=session, command=command)
        except acp.RequestError as error:
            await self.say(session, str(error.code))

    async def wait(self, session: str, _: str) -> str:
        await self.waiting.wait()
        return "cancelled"

    async def stop(self, session: str, reason: str) -> str:
        return reason


if __name__ == "__main__":
    asyncio.run(acp.run_agent(Agent()))  # type: ignore[arg-type]
