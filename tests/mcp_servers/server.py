"""An MCP server for the tests, written with the official SDK: over stdio, or over streamable HTTP at the port that is given,
where it answers only requests that carry its token."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp_types import AudioContent, ImageContent, TextContent

server = MCPServer("wiki")


@server.tool(description="Look a page up")
def page(title: str, deep: bool = False) -> str:
    if title == "missing":
        raise ToolError("no such page")
    return f"text of {title}{' with links' if deep else ''}"


@server.tool()
def count(words: list[str]) -> int:
    return len(words)


@server.tool()
def about(title: str) -> dict[str, Any]:
    return {"title": title, "tags": ["a", "b"]}


@server.tool()
def environment() -> list[str]:
    return sorted(os.environ)


@server.tool(structured_output=False)
def chart(broken: bool = False) -> list[Any]:
    picture = ImageContent(type="image", data="AAAA" if broken else "R0lGODlh", mime_type="image/gif")
    sound = AudioContent(type="audio", data="SUQz" + "A" * 12, mime_type="audio/mpeg")
    return [TextContent(type="text", text="sales"), picture, sound]


@server.tool()
def leave() -> str:
    os._exit(3)


@server.tool()
def leave_later() -> str:
    """Answer, and be gone when the next call comes."""
    threading.Timer(0.1, os._exit, (3,)).start()
    return "soon"


def guarded(app: Any) -> Any:
    async def answer(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "http" and dict(scope["headers"]).get(b"x-token") != b"abcdefgh":
            await send({"type": "http.response.start", "status": 401, "headers": []})
            return await send({"type": "http.response.body"})
        await app(scope, receive, send)

    return answer


if __name__ == "__main__":
    if len(sys.argv) > 1:
        import uvicorn

        uvicorn.run(guarded(server.streamable_http_app()), host="127.0.0.1", port=int(sys.argv[1]), log_level="error")
    else:
        server.run(transport="stdio")
