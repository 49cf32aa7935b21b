"""A simulation of a bank: customers arrive at random, tellers serve from a queue."""

from collections import deque
from dataclasses import dataclass


@dataclass(slots=True)
class Customer:
    arrived: int
    work: int


@dataclass(slots=True)
class Random:
    state: int

    def next(self, below):
        self.state = (self.state * 1103515245 + 12345) % 2147483648
        return self.state // 65536 % below


def main(n, emit):
    random = Random(2024)
    waiting = deque()
    tellers = [0, 0, 0]
    served = waited = longest = 0
    for minute in range(n):
        if random.next(100) < 55:
            waiting.append(Customer(minute, 2 + random.next(6)))
        longest = max(longest, len(waiting))
        for i in range(len(tellers)):
            if tellers[i] > 0:
                tellers[i] -= 1
            elif waiting:
                customer = waiting.popleft()
                tellers[i] = customer.work
                waited += minute - customer.arrived
                served += 1
    emit("served", served)
    emit("waited", waited)
    emit("longest", longest)
    emit("left", len(waiting))
