"""Points of the Mandelbrot set."""


def steps(x, y, most):
    a = b = 0.0
    n = 0
    while n < most and a * a + b * b <= 4.0:
        a, b = a * a - b * b + x, 2.0 * a * b + y
        n += 1
    return n


def main(n, emit):
    inside = total = 0
    for row in range(n):
        for column in range(n):
            found = steps(column * 3.0 / n - 2.0, row * 2.0 / n - 1.0, 100)
            total += found
            if found == 100:
                inside += 1
    emit("inside", inside)
    emit("total", total)
