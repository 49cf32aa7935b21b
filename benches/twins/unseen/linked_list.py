"""Linked lists of pairs: built, reversed, mapped, summed, merged by recursion."""


def from_values(values):
    node = None
    for value in reversed(values):
        node = (value, node)
    return node


def turned(node):
    out = None
    while node is not None:
        value, node = node
        out = (value, out)
    return out


def mapped(node, f):
    return None if node is None else (f(node[0]), mapped(node[1], f))


def total_of(node):
    return 0 if node is None else node[0] + total_of(node[1])


def merged(a, b):
    if a is None:
        return b
    if b is None:
        return a
    if a[0] <= b[0]:
        return (a[0], merged(a[1], b))
    return (b[0], merged(a, b[1]))


def first(node, n):
    out = []
    while len(out) < n and node is not None:
        value, node = node
        out.append(value)
    return out


def main(n, emit):
    total = 0
    last = None
    for i in range(n):
        odd = from_values([2 * k + i % 3 for k in range(50)])
        back = turned(turned(odd))
        tripled = mapped(odd, lambda x, i=i: x * 3 + i % 2)
        last = merged(back, tripled)
        total += total_of(last)
    emit("total", total)
    emit("first", first(last, 12))
