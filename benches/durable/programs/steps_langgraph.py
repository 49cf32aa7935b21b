import sys
from typing import TypedDict

from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
from openai import OpenAI

model = OpenAI()
key, count, durability = sys.argv[1], int(sys.argv[2]), sys.argv[3]


class State(TypedDict):
    done: int
    said: str


def step(state):
    prompt = f"step {key} {state['done']}"
    reply = model.chat.completions.create(model="small", messages=[{"role": "user", "content": prompt}])
    return {"done": state["done"] + 1, "said": reply.choices[0].message.content}


builder = StateGraph(State)
builder.add_node(step)
builder.add_edge(START, "step")
builder.add_conditional_edges("step", lambda state: "step" if state["done"] < count else END)
with SqliteSaver.from_conn_string("runs.db") as saver:
    config = {"configurable": {"thread_id": key}, "recursion_limit": count + 5}
    builder.compile(checkpointer=saver).invoke({"done": 0, "said": ""}, config, durability=durability)
