import os
import sys

import httpx2
from dbos import DBOS, DBOSClient, SetWorkflowID
from openai import OpenAI

CHARGES = os.environ["CHARGE_URL"]
DATABASE = os.environ["DBOS_SYSTEM_DATABASE_URL"]
WEEK = 7 * 24 * 3600
model = OpenAI()


@DBOS.step()
def ask(prompt):
    reply = model.chat.completions.create(model="small", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


# A step that was under way is run again: whether the charge was made must be asked first, every time.
@DBOS.step()
def charge(order):
    if httpx2.get(f"{CHARGES}/{order}").status_code == 404:
        httpx2.post(CHARGES, json={"order": order}).raise_for_status()


@DBOS.workflow()
def refund(order):
    decision = ask(f"decide {order}")
    charge(order)
    letter = ask(f"write {order} {decision}")
    DBOS.set_event("letter", letter)
    if DBOS.recv(timeout_seconds=WEEK):
        return ask(f"send {order} {letter}")


def run(order):
    DBOS(config={"name": "refund", "system_database_url": DATABASE})
    DBOS.launch()
    with SetWorkflowID(order):
        print(DBOS.start_workflow(refund, order).get_result())


def approve(order, answer):
    client = DBOSClient(system_database_url=DATABASE)
    print(client.get_event(order, "letter"))
    client.send(order, answer == "yes")


if __name__ == "__main__":
    {"run": run, "approve": approve}[sys.argv[1]](*sys.argv[2:])
