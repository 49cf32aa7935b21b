import os
import sys
from typing import TypedDict

import httpx
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command, interrupt
from openai import OpenAI

CHARGES = os.environ["CHARGE_URL"]
model = OpenAI()


class State(TypedDict, total=False):
    order: str
    decision: str
    letter: str
    approved: bool
    sent: str


def ask(prompt):
    reply = model.chat.completions.create(model="small", messages=[{"role": "user", "content": prompt}])
    return reply.choices[0].message.content


def decide(state):
    return {"decision": ask(f"decide {state['order']}")}


# A node that was under way is run again: whether the charge was made must be asked first, every time.
def charge(state):
    if httpx.get(f"{CHARGES}/{state['order']}").status_code == 404:
        httpx.post(CHARGES, json={"order": state["order"]}).raise_for_status()


def write(state):
    return {"letter": ask(f"write {state['order']} {state['decision']}")}


def approve(state):
    return {"approved": interrupt(state["letter"])}


def send(state):
    return {"sent": ask(f"send {state['order']} {state['letter']}")}


builder = StateGraph(State)
builder.add_sequence([decide, charge, write, approve])
builder.add_node(send)
builder.add_edge(START, "decide")
builder.add_conditional_edges("approve", lambda state: "send" if state["approved"] else END)

order, answers = sys.argv[1], sys.argv[2:]
with SqliteSaver.from_conn_string("runs.db") as saver:
    graph = builder.compile(checkpointer=saver)
    config = {"configurable": {"thread_id": order}}
    state = graph.get_state(config)
    if state.created_at is None:
        given = {"order": order}
    else:
        given = Command(resume=answers[0] == "yes") if state.interrupts and answers else None
    print(graph.invoke(given, config, durability="sync"))
