"""Requests of clients under a sliding window: a queue of times for each client."""

from collections import deque


class Window:
    def __init__(self):
        self.times = deque()
        self.refused = 0


class Limiter:
    def __init__(self, most, span):
        self.most = most
        self.span = span
        self.clients = {}

    def ask(self, client, now):
        window = self.clients.get(client)
        if window is None:
            window = self.clients[client] = Window()
        times = window.times
        while times and times[0] <= now - self.span:
            times.popleft()
        used = len(times)
        if used >= self.most:
            window.refused += 1
            return False, times[0] + self.span - now
        times.append(now)
        return True, self.most - used - 1


def main(n, emit):
    limiter = Limiter(5, 100)
    now = 0
    waits = 0
    left = 0
    for i in range(n):
        now += i * 7 % 5
        allowed, number = limiter.ask(f"client {i * i % 11}", now)
        if allowed:
            left += number
        else:
            waits += number
    emit("left", left)
    emit("waits", waits)
    emit("refused", [window.refused for window in limiter.clients.values()])
