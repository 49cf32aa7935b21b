"""An MCP server for the tests with all that a server may have besides tools, written with the official SDK: over stdio, or over
streamable HTTP at the port that is given. With the word `old` it knows no revision without a handshake."""

from __future__ import annotations

import json
import os
import sys
import threading
from typing import Annotated, Any, Literal

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import AssistantMessage, UserMessage
from mcp.server.mcpserver.resolve import Elicit, Resolve
from mcp_types import METHOD_NOT_FOUND, EmbeddedResource, ImageContent, ResourceLink, TextResourceContents
from pydantic import BaseModel, Field

GIF = b"GIF89a"


server = MCPServer("rich")


@server.resource("wiki://emma", title="Emma", description="A novel", mime_type="text/markdown")
def emma() -> str:
    return "# Emma"


@server.resource("wiki://cover.gif", mime_type="image/gif")
def cover() -> bytes:
    return GIF


@server.resource("wiki://index.bin", mime_type="application/octet-stream")
def index() -> bytes:
    return b"\x00\x01\xff"


@server.resource("wiki://page/{title}")
def page(title: str) -> str:
    return f"page of {title}"


@server.prompt(description="Review some code")
def review(code: str, tone: str = "kind") -> str:
    return f"Review this in a {tone} tone: {code}"


@server.prompt()
def talk() -> list[Any]:
    return [UserMessage("Who wrote Emma?"), AssistantMessage("Jane Austen."), UserMessage("When?")]


@server.prompt()
def shown() -> list[Any]:
    picture = ImageContent(type="image", data="R0lGODlh", mime_type="image/gif")
    inside = EmbeddedResource(type="resource", resource=TextResourceContents(uri="wiki://emma", text="# Emma"))
    return [UserMessage("Look:"), UserMessage(picture), UserMessage(inside)]


class Loan(BaseModel):
    days: int = Field(ge=1, le=30)
    kind: Literal["paper", "audio"] = "paper"


def ask(title: str) -> Elicit[Loan]:
    return Elicit(f"How long do you want {title}?", Loan)


@server.tool()
def lend(title: str, loan: Annotated[ElicitationResult[Loan], Resolve(ask)]) -> str:
    if loan.action != "accept":
        return f"{title}: {loan.action}"
    return f"{title} for {loan.data.days} days on {loan.data.kind}"


@server.tool()
async def copy(context: Context[Any, Any]) -> str:
    for page_number in (1, 2, 3):
        await context.report_progress(page_number, 3, f"page {page_number}")
    return "done"


@server.tool(structured_output=False)
def linked() -> list[Any]:
    return [
        ResourceLink(type="resource_link", uri="wiki://emma", name="emma"),
        EmbeddedResource(type="resource", resource=TextResourceContents(uri="wiki://emma", text="# Emma")),
    ]


def refuse_discovery() -> None:
    """Answer the first question, that for the newest revisions, as a server of the older ones does, and hand on the rest."""
    asked = json.loads(sys.stdin.buffer.readline())
    error = {"code": METHOD_NOT_FOUND, "message": "no such method"}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "error": error}), flush=True)
    reading, writing = os.pipe()
    source = os.fdopen(os.dup(0), "rb", 0)

    def copy_on() -> None:
        while data := source.read(65536):
            os.write(writing, data)
        os.close(writing)

    threading.Thread(target=copy_on, daemon=True).start()
    os.dup2(reading, 0)


if __name__ == "__main__":
    if "old" in sys.argv:
        refuse_discovery()
    ports = [word for word in sys.argv[1:] if word.isdigit()]
    if ports:
        import uvicorn

        uvicorn.run(server.streamable_http_app(), host="127.0.0.1", port=int(ports[0]), log_level="error")
    else:
        server.run(transport="stdio")
