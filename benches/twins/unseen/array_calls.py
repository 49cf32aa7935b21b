"""A list that a small function extends and gives back, once a round."""


def add(xs, x):
    xs.append(x)
    return xs


def kept(xs, i):
    return add(xs, i * i % 1009) if i % 3 == 0 else add(xs, -i)


def main(n, emit):
    xs = []
    for i in range(n):
        xs = kept(xs, i)
    emit("length", len(xs))
    emit("sum", sum(xs))
