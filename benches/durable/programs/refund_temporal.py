import asyncio
import os
import sys
from datetime import timedelta

from temporalio import activity, workflow
from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError
from temporalio.worker import Worker

with workflow.unsafe.imports_passed_through():
    import httpx2
    from openai import AsyncOpenAI

QUEUE = "refunds"
LIMIT = timedelta(seconds=10)


@activity.defn
async def ask(prompt: str) -> str:
    async with AsyncOpenAI() as model:
        reply = await model.chat.completions.create(model="small", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


# An activity that was under way is run again: whether the charge was made must be asked first, every time.
@activity.defn
async def charge(order: str) -> None:
    charges = os.environ["CHARGE_URL"]
    async with httpx2.AsyncClient() as bank:
        if (await bank.get(f"{charges}/{order}")).status_code == 404:
            (await bank.post(charges, json={"order": order})).raise_for_status()


@workflow.defn
class Refund:
    def __init__(self) -> None:
        self.written = self.approved = None

    @workflow.run
    async def run(self, order: str) -> str | None:
        decision = await workflow.execute_activity(ask, f"decide {order}", start_to_close_timeout=LIMIT)
        await workflow.execute_activity(charge, order, start_to_close_timeout=LIMIT)
        self.written = await workflow.execute_activity(ask, f"write {order} {decision}", start_to_close_timeout=LIMIT)
        await workflow.wait_condition(lambda: self.approved is not None)
        if self.approved:
            return await workflow.execute_activity(ask, f"send {order} {self.written}", start_to_close_timeout=LIMIT)

    @workflow.signal
    def approve(self, yes: bool) -> None:
        self.approved = yes

    @workflow.query
    def letter(self) -> str | None:
        return self.written


async def run(client, order):
    async with Worker(client, task_queue=QUEUE, workflows=[Refund], activities=[ask, charge]):
        once = WorkflowIDReusePolicy.REJECT_DUPLICATE
        try:
            handle = await client.start_workflow(Refund.run, order, id=order, task_queue=QUEUE, id_reuse_policy=once)
        except WorkflowAlreadyStartedError:
            handle = client.get_workflow_handle(order)
        print(await handle.result())


async def approve(client, order, answer):
    handle = client.get_workflow_handle(order)
    print(await handle.query(Refund.letter))
    await handle.signal(Refund.approve, answer == "yes")


async def main(action, *words):
    client = await Client.connect(os.environ["TEMPORAL_ADDRESS"])
    await {"run": run, "approve": approve}[action](client, *words)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
