"""Topological order of tasks with dependencies, and what happens when they form a circle."""

from collections import deque
from dataclasses import dataclass


@dataclass(slots=True)
class Task:
    name: str
    needs: list


def tasks(n):
    return [Task(f"task {i}", [f"task {i // k}" for k in (2, 3, 5, 7) if i >= k and i % k == 0]) for i in range(n)]


def order(tasks):
    open_ = {}
    users = {}
    for task in tasks:
        open_[task.name] = len(task.needs)
        for need in task.needs:
            users.setdefault(need, []).append(task.name)
    ready = deque(task.name for task in tasks if open_[task.name] == 0)
    found = []
    while ready:
        name = ready.popleft()
        found.append(name)
        for user in users.get(name, ()):
            open_[user] -= 1
            if open_[user] == 0:
                ready.append(user)
    if len(found) < len(tasks):
        raise ValueError(f"a circle among {len(tasks) - len(found)} tasks")
    return found


def main(n, emit):
    everything = tasks(n)
    found = order(everything)
    emit("length", len(found))
    emit("last", found[-3:])
    try:
        order([*everything, Task("x", ["y"]), Task("y", ["x"])])
        emit("circle", "none")
    except ValueError as e:
        emit("circle", str(e))
