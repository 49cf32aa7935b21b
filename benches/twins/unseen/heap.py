"""A binary heap as a class with an order of its own, and a heap sort of jobs."""

from dataclasses import dataclass


@dataclass(slots=True)
class Job:
    id: int
    priority: int


class Heap:
    __slots__ = ("items", "before")

    def __init__(self, before):
        self.items = []
        self.before = before

    def push(self, item):
        items, before = self.items, self.before
        items.append(item)
        at = len(items) - 1
        while at > 0:
            parent = (at - 1) // 2
            if not before(items[at], items[parent]):
                break
            items[at], items[parent] = items[parent], items[at]
            at = parent

    def pop(self):
        items, before = self.items, self.before
        if not items:
            return None
        top = items[0]
        last = items.pop()
        end = len(items)
        if end == 0:
            return top
        items[0] = last
        at = 0
        while True:
            best = at
            for child in (2 * at + 1, 2 * at + 2):
                if child < end and before(items[child], items[best]):
                    best = child
            if best == at:
                return top
            items[at], items[best] = items[best], items[at]
            at = best


def main(n, emit):
    heap = Heap(lambda a, b: a.priority < b.priority or a.priority == b.priority and a.id < b.id)
    state = 3
    for id in range(n):
        state = (state * 1103515245 + 12345) % 2147483648
        heap.push(Job(id, state // 65536 % 1000))
    total = place = 0
    first = []
    while (job := heap.pop()) is not None:
        place += 1
        total += place * job.id % 1009
        if place <= 5:
            first.append(job.id)
    emit("sum", total)
    emit("first", first)
