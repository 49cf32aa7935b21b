"""The cheapest way through a grid of costs: Dijkstra with a binary heap of tuples, written out as the program has it."""


class Heap:
    __slots__ = ("entries",)

    def __init__(self):
        self.entries = []

    def push(self, entry):
        entries = self.entries
        entries.append(entry)
        at = len(entries) - 1
        while at > 0 and entries[at][0] < entries[(at - 1) // 2][0]:
            parent = (at - 1) // 2
            entries[at], entries[parent] = entries[parent], entries[at]
            at = parent

    def pop(self):
        entries = self.entries
        if not entries:
            return None
        end = len(entries) - 1
        entries[0], entries[end] = entries[end], entries[0]
        top = entries.pop()
        at = 0
        while True:
            best = at
            for child in (2 * at + 1, 2 * at + 2):
                if child < end and entries[child][0] < entries[best][0]:
                    best = child
            if best == at:
                return top
            entries[at], entries[best] = entries[best], entries[at]
            at = best


def neighbours(x, y, side):
    around = [(x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)]
    return [(a, b) for a, b in around if a >= 0 and b >= 0 and a < side and b < side]


def main(n, emit):
    side = n
    costs = [[(x * x * 7 + y * 13 + x * y) % 9 + 1 for x in range(side)] for y in range(side)]
    known = [[-1] * side for _ in range(side)]
    done = set()
    heap = Heap()
    known[0][0] = 0
    heap.push((0, 0, 0))
    while (entry := heap.pop()) is not None:
        cost, x, y = entry
        if (x, y) in done:
            continue
        done.add((x, y))
        for a, b in neighbours(x, y, side):
            total = cost + costs[b][a]
            if known[b][a] < 0 or total < known[b][a]:
                known[b][a] = total
                heap.push((total, a, b))
    way = [(side - 1, side - 1)]
    while way[-1] != (0, 0):
        x, y = way[-1]
        way.append(next((a, b) for a, b in neighbours(x, y, side) if known[b][a] + costs[y][x] == known[y][x]))
    emit("cheapest", known[side - 1][side - 1])
    emit("sum", sum(sum(row) for row in known))
    emit("way", [len(way), *way[len(way) // 2]])
