"""A program that uses a module of Concerto rightly: it runs, and type checkers find nothing (P-2.3)."""

import asyncio
from dataclasses import dataclass
from typing import assert_never, assert_type

import concerto.importer  # noqa: F401  # finds `nasty`
import nasty


@dataclass(frozen=True)
class Unpacked:
    values: list[str]
    final: bool
    keys_: int = 0


literal = nasty.Literal(int=1, str="a", list=[1], Shape=None, class_=True, items=["a"], type_name_=1)
assert_type(literal.int, int)
assert_type(literal.list, list[int])
assert_type(literal.property, float)
assert_type(literal.items, list[str])
result = nasty.int(nasty.Shape.Str(int=1, data_="x", type_=literal), b"x", (1, "x"), "a")
shape = result["a"]
match shape:
    case nasty.Shape.Shape(number):
        assert_type(number, int)
    case nasty.Shape.Str(number, text, kind):
        assert_type(kind, nasty.Literal)
        print(number, text, kind.x__x)
    case nasty.Shape.Literal(inner):
        assert_type(inner, nasty.Literal)
    case nasty.Shape.None_() | nasty.Shape.Never():
        pass
    case nasty.Shape.Two(a, b):
        print(a, b)
    case _:
        assert_never(shape)
assert_type(nasty.list(1, from_=literal), list[int])
assert_type(nasty.aio_(), int)
assert_type(nasty.class_(), nasty.Literal | None)
assert_type(nasty.x__init__(), int)
tickets = [nasty.Unpack(values=["a"], final=True)]
print(nasty.count(tickets), nasty.count((*tickets, Unpacked(["b"], False))), nasty.count([{"values": ("c",), "final": False}]))
with nasty.session(offline=True) as session:
    assert_type(session.functions.aio_(), int)
    session.functions.session_(nasty.Mapping(a={}))
    print(session.functions.session_({"a": {1: [shape, "Never"]}}))


async def main(session: nasty.Session) -> None:
    assert_type(await nasty.aio.list(1), list[int])
    unpacked = await nasty.final({"values": [], "final": True})
    assert_type(unpacked.values, list[str])
    await nasty.final(Unpacked(["a"], False))
    assert_type(await session.aio.aio_(), int)


with nasty.session(offline=True) as other:
    asyncio.run(main(other))
