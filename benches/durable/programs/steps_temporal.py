import asyncio
import os
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    from openai import AsyncOpenAI

model = None


@activity.defn
async def ask(prompt: str) -> str:
    reply = await model.chat.completions.create(model="small", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


@workflow.defn
class Steps:
    @workflow.run
    async def run(self, key: str, count: int) -> None:
        for i in range(count):
            await workflow.execute_activity(ask, f"step {key} {i}", start_to_close_timeout=timedelta(seconds=10))


async def main(key, count):
    global model
    model = AsyncOpenAI()
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    async with Worker(client, task_queue="steps", workflows=[Steps], activities=[ask]):
        await client.execute_workflow(Steps.run, args=[key, int(count)], id=key, task_queue="steps")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
