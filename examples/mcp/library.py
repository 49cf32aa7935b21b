"""The MCP server of `main.conc` over stdio, written with the official SDK: `python -m pip install mcp`. A tool is a function
under `@server.tool`, and a ToolError is what the model learns of a failure; a resource and a prompt are functions too."""

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

BOOKS = {"Emma": "Jane Austen", "Ulysses": "James Joyce"}
server = MCPServer("library")


@server.tool(description="Give the author of a book")
def author(title: str) -> str:
    if title not in BOOKS:
        raise ToolError(f"there is no book {title}")
    return BOOKS[title]


@server.tool(description="List the titles")
def titles() -> list[str]:
    return sorted(BOOKS)


@server.resource("library://rules", mime_type="text/plain")
def rules() -> str:
    return "Return books within three weeks."


@server.prompt(description="Recommend a book")
def recommend(reader: str) -> str:
    return f"Recommend one of our books to {reader}."


if __name__ == "__main__":
    server.run(transport="stdio")
