"""The twin of `one_by_one.py`: `bare_sdk.py PORT CALLS` makes calls one after the other with the SDK alone."""

from __future__ import annotations

import asyncio
import sys

from openai import AsyncOpenAI


async def main(port: int, calls: int) -> None:
    async with AsyncOpenAI(base_url=f"http://127.0.0.1:{port}/v1", api_key="none", max_retries=0, timeout=60) as client:
        for n in range(calls):
            reply = await client.chat.completions.create(model="m", messages=[{"role": "user", "content": str(n)}])
            assert reply.choices[0].message.content == "yes"


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
