"""The agent of `main.conc`, a process that speaks the Agent Client Protocol, as coding agents do: it sorts the lines of the file
that the prompt names into a new one. It reads and writes through its client, so only what the program may touch, and asks before
it writes.

It needs the SDK of the protocol (the extra `acp`). A real one is configured the same way: `command = "npx"`,
`args = ["@zed-industries/claude-code-acp"]`.
"""

import asyncio
import os

import acp
from acp.schema import PermissionOption, PlanEntry, ToolCallUpdate

OPTIONS = [
    PermissionOption(option_id="yes", name="Write it", kind="allow_once"),
    PermissionOption(option_id="no", name="Leave it", kind="reject_once"),
]


class Coder:
    def on_connect(self, client):
        self.client = client

    async def initialize(self, protocol_version, **_):
        return acp.InitializeResponse(protocol_version=protocol_version)

    async def new_session(self, cwd, **_):
        self.folder = cwd
        return acp.NewSessionResponse(session_id="s1")

    async def cancel(self, session_id, **_):
        pass

    async def prompt(self, prompt, session_id, **_):
        name = prompt[0].text.split()[-1]
        tell = self.client.session_update
        steps = [PlanEntry(content=step, priority="medium", status="pending") for step in (f"read {name}", "write sorted.txt")]
        await tell(session_id, acp.update_plan(steps))
        text = await self.client.read_text_file(session_id=session_id, path=os.path.join(self.folder, name))
        await tell(session_id, acp.start_tool_call("w1", "write sorted.txt", kind="edit"))
        answer = await self.client.request_permission(
            session_id=session_id, tool_call=ToolCallUpdate(tool_call_id="w1", title="write sorted.txt"), options=OPTIONS
        )
        if getattr(answer.outcome, "option_id", None) == "yes":
            lines = sorted(text.content.splitlines())
            path = os.path.join(self.folder, "sorted.txt")
            await self.client.write_text_file(session_id=session_id, path=path, content="\n".join(lines) + "\n")
            await tell(session_id, acp.update_agent_message_text(f"{len(lines)} lines are sorted."))
        else:
            await tell(session_id, acp.update_agent_message_text("Nothing is written."))
        return acp.PromptResponse(stop_reason="end_turn")


asyncio.run(acp.run_agent(Coder()))
