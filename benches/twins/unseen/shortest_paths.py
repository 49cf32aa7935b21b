"""Dijkstra's shortest paths over a dict of edges, with a binary heap of tuples written out, as the program has it."""


def graph(n):
    return {i: [((i + 1) % n, 7), (i * 3 % n, i % 11 + 2), ((i * i + 5) % n, i % 17 + 1)] for i in range(n)}


def push(heap, entry):
    heap.append(entry)
    at = len(heap) - 1
    while at > 0 and heap[at][0] < heap[(at - 1) // 2][0]:
        parent = (at - 1) // 2
        heap[parent], heap[at] = heap[at], heap[parent]
        at = parent


def pop(heap):
    top = heap[0]
    last = heap.pop()
    end = len(heap)
    if end > 0:
        heap[0] = last
        at = 0
        while True:
            best = at
            if 2 * at + 1 < end and heap[2 * at + 1][0] < heap[best][0]:
                best = 2 * at + 1
            if 2 * at + 2 < end and heap[2 * at + 2][0] < heap[best][0]:
                best = 2 * at + 2
            if best == at:
                break
            heap[best], heap[at] = heap[at], heap[best]
            at = best
    return top


def distances(edges, start):
    known = {start: 0}
    heap = [(0, start)]
    while heap:
        distance, place = pop(heap)
        if distance > known[place]:
            continue
        for following, length in edges[place]:
            total = distance + length
            before = known.get(following)
            if before is None or total < before:
                known[following] = total
                push(heap, (total, following))
    return known


def main(n, emit):
    found = distances(graph(n), 0)
    emit("reached", len(found))
    emit("sum", sum(found.values()))
    emit("furthest", max(found.values()))
    emit("last", found[n - 1])
