"""The peer: FastAPI with the bare SDK, one endpoint that streams the text of a model as server-sent events.

    python benches/serving/peer.py PORT MODEL_URL
"""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator

import openai
import uvicorn
from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

client = openai.AsyncOpenAI(base_url=sys.argv[2], api_key="unused-0123456789")
app = FastAPI()


class Question(BaseModel):
    question: str


@app.post("/call/ask")
async def ask(question: Question) -> StreamingResponse:
    async def events() -> AsyncIterator[str]:
        whole = ""
        stream = await client.chat.completions.create(
            model="m", messages=[{"role": "user", "content": question.question}], stream=True
        )
        async for chunk in stream:
            text = (chunk.choices[0].delta.content if chunk.choices else None) or ""
            if text:
                whole += text
                yield f"event: text\ndata: {json.dumps({'text': text})}\n\n"
        yield f"event: result\ndata: {json.dumps(whole)}\n\n"

    return StreamingResponse(events(), media_type="text/event-stream")


uvicorn.run(app, port=int(sys.argv[1]), log_level="error", access_log=False)
