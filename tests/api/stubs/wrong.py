"""A program that uses a module of Concerto wrongly: each line that says so is an error of type checkers (P-2.3)."""

import nasty

literal = nasty.Literal(int=1, str="a", list=[1], Shape=None, class_=True, items=["a"], type_name_=1)
nasty.list("1")  # error
nasty.list(1, from_="x")  # error
nasty.list(1, 2)  # error
nasty.list()  # error
nasty.lists(1)  # error
nasty.int("Unknown", b"", (1, "x"), "a")  # error
nasty.int("Never", "text", (1, "x"), "a")  # error
nasty.int("Never", b"", (1, 2), "a")  # error
nasty.int("Never", b"", (1, "x"), "c")  # error
nasty.int("Never", b"x", (1, "x"), "a")["a"].nothing  # error
nasty.Literal(int=1)  # error
literal.int = 2  # error
literal.nothing  # error
nasty.Shape.Shape("x")  # error
nasty.Shape.Two(1)  # error
nasty.Shape.Two(1, "c")  # error
nasty.Shape.Str(int=1, data_="", type_=2)  # error
nasty.count("text")  # error
nasty.count([{"values": [1], "final": False}])  # error
nasty.count(range(3))  # error
nasty.class_() + 1  # error
nasty.session(ofline=True)  # error
nasty.session(offline="yes")  # error
nasty.session().functions.list("1")  # error


async def main() -> None:
    await nasty.aio.list("1")  # error
    (await nasty.final({"values": [], "final": 1})).values  # error
