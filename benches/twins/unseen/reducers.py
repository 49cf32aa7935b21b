"""Actions and reducers: functions held in a dict by the kind of action, each changes the state and gives it back."""

from dataclasses import dataclass


@dataclass(slots=True)
class Action:
    kind: str
    key: str
    amount: int


class Store:
    def __init__(self):
        self.reducers = {}
        self.state = {}
        self.unknown = 0

    def on(self, kind, reducer):
        self.reducers[kind] = reducer

    def dispatch(self, action):
        reducer = self.reducers.get(action.kind)
        if reducer is None:
            self.unknown += 1
        else:
            self.state = reducer(self.state, action)


def with_entry(state, key, value):
    state[key] = value
    return state


def add(state, action):
    return with_entry(state, action.key, state.get(action.key, 0) + action.amount)


def rename(state, action):
    value = state.get(action.key)
    if value is None:
        return state
    with_entry(state, f"{action.key}!", value)
    del state[action.key]
    return state


def drop(state, action):
    state.pop(action.key, None)
    return state


def twice(reducer):
    return lambda state, action: reducer(reducer(state, action), action)


KINDS = ["add", "add", "set", "rename", "double"]


def action(i):
    kind = KINDS[i % 6] if i % 6 < 5 else "drop" if i % 12 == 5 else "what"
    return Action(kind, f"key {i if i % 2 == 0 else i * 7 % 1000}", i % 50)


def main(n, emit):
    store = Store()
    store.on("add", add)
    store.on("double", twice(add))
    store.on("set", lambda state, a: with_entry(state, a.key, a.amount))
    store.on("rename", rename)
    store.on("drop", drop)
    for i in range(n):
        store.dispatch(action(i))
    emit("keys", len(store.state))
    emit("sum", sum(store.state.values()))
    emit("renamed", len([key for key in store.state if key.endswith("!")]))
    emit("unknown", store.unknown)
