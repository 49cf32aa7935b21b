"""Formulas as trees of small classes: derived, simplified, evaluated and shown by recursion."""

from dataclasses import dataclass


@dataclass(slots=True)
class Number:
    n: int


@dataclass(slots=True)
class Variable:
    name: str


@dataclass(slots=True)
class Sum:
    a: object
    b: object


@dataclass(slots=True)
class Product:
    a: object
    b: object


@dataclass(slots=True)
class Power:
    base: object
    n: int


def derived(e, name):
    match e:
        case Number():
            return Number(0)
        case Variable(v):
            return Number(1 if v == name else 0)
        case Sum(a, b):
            return Sum(derived(a, name), derived(b, name))
        case Product(a, b):
            return Sum(Product(derived(a, name), b), Product(a, derived(b, name)))
        case Power(base, n):
            return Product(Product(Number(n), Power(base, n - 1)), derived(base, name))


def simplified(e):
    match e:
        case Sum(a, b):
            match simplified(a), simplified(b):
                case (Number(0), x) | (x, Number(0)):
                    return x
                case Number(x), Number(y):
                    return Number(x + y)
                case x, y:
                    return Sum(x, y)
        case Product(a, b):
            match simplified(a), simplified(b):
                case (Number(0), _) | (_, Number(0)):
                    return Number(0)
                case (Number(1), x) | (x, Number(1)):
                    return x
                case Number(x), Number(y):
                    return Number(x * y)
                case x, y:
                    return Product(x, y)
        case Power(base, n):
            return Number(1) if n == 0 else simplified(base) if n == 1 else Power(simplified(base), n)
    return e


def value(e, x):
    match e:
        case Number(n):
            return n
        case Variable():
            return x
        case Sum(a, b):
            return (value(a, x) + value(b, x)) % 1000003
        case Product(a, b):
            return value(a, x) * value(b, x) % 1000003
        case Power(base, n):
            b = value(base, x)
            out = 1
            for _ in range(n):
                out = out * b % 1000003
            return out


def shown(e):
    match e:
        case Number(n):
            return str(n)
        case Variable(v):
            return v
        case Sum(a, b):
            return f"({shown(a)} + {shown(b)})"
        case Product(a, b):
            return f"{shown(a)}*{shown(b)}"
        case Power(base, n):
            return f"{shown(base)}^{n}"


def polynomial(terms, i):
    e = Number(i)
    for k in range(1, terms + 1):
        e = Sum(e, Product(Number(i * k % 7), Power(Variable("x"), k)))
    return e


def main(n, emit):
    total = 0
    last = ""
    for i in range(n):
        slope = simplified(derived(polynomial(6, i), "x"))
        bend = simplified(derived(slope, "x"))
        total += value(slope, i % 50) + value(bend, 3)
        last = shown(bend)
    emit("sum", total)
    emit("last", last)
