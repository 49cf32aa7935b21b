"""A server of models in a process of its own, which answers after a while and counts what it was asked: nothing of it is
Concerto's. `python model_server.py LOG [DELAY]` prints its port; LOG gets a line for each prompt that it has answered.

A prompt with `fail` is status 400, one with `flaky` 500 the first time. Requests take DELAY seconds."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

flaky: set[str] = set()


def text_of(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def answer(prompt: str) -> tuple[int, dict[str, Any]]:
    if "fail" in prompt:
        return 400, {"error": {"message": "it does not want to", "type": "invalid_request_error"}}
    if "flaky" in prompt and prompt not in flaky:
        flaky.add(prompt)
        return 500, {"error": {"message": "it broke"}}
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
    message = {"role": "assistant", "content": f"re: {prompt}"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return 200, {"id": "c", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}


class Server:
    def __init__(self, log: str, delay: float) -> None:
        self.log = open(log, "a", encoding="utf-8", buffering=1)  # noqa: SIM115, as long as the process
        self.delay = delay

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
                prompt = text_of(json.loads(await reader.readexactly(length))["messages"][-1]["content"])
                await asyncio.sleep(self.delay)
                self.log.write(json.dumps(prompt) + "\n")
                status, data = answer(prompt)
                body = json.dumps(data).encode()
                start = f"HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
                writer.write(start.encode() + body)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()


async def main(log: str, delay: float) -> None:
    server = await asyncio.start_server(Server(log, delay).serve, "127.0.0.1", 0, backlog=1000)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 0.0))
