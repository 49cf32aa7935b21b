"""The rules of the verifier: each has images that it alone refuses, and a near miss that passes (V-4.2, G-4.3)."""

from __future__ import annotations

import random
from collections import Counter
from typing import NamedTuple

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode import rules
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.image import Image, ImageError, Limits
from concerto.vm.bytecode.opcodes import BY_NAME, OPCODES
from concerto.vm.bytecode.verify import Verified, verify
from concerto.vm.schema import plain_form

from .builder import BUILTINS, SECTIONS, SHAPE, code, with_functions

F = code  # one function
G = code("NIL; RETURN", name="g")
TWO = code("NIL; RETURN", name="two", params='[["a", 0, null], ["b", 0, null]]')
ONE = code("NIL; RETURN", name="one", params='[["a", 0, null]]')
CAPTURES = code("LOAD_CELL 0; RETURN", name="inner", captures="[1]", flags='["closure"]')
SUSPENDS = code("NIL; PRINT 1; NIL; RETURN", name="waits", flags='["suspends"]')


class Case(NamedTuple):
    """`near`: passes. `refused`: each is refused by the rule, and passes without it."""

    near: Image
    refused: list[Image]


def of(*functions: str, **sections: object) -> Image:
    return with_functions(*functions, **sections)


def changed(image: Image, function: int = 0, **fields: object) -> Image:
    for name, value in fields.items():
        setattr(image.functions[function], name, value)
    return image


def entry(image: Image, number: int) -> Image:
    image.header.entry = number
    return image


def exported(image: Image, functions: dict[str, int], init: list[int]) -> Image:
    image.exports = i.Exports(functions, init)
    return image


def types(*more: object) -> dict[str, object]:
    return {"types": [*SECTIONS["types"], *more]}


def constants(*more: object) -> dict[str, object]:
    return {"constants": [*SECTIONS["constants"], *more]}


PAIR = ["enum", "E", [["V", [0, 0], "x", "y"]]]


def raw(*numbers: int) -> Image:
    return changed(of(F("NIL; RETURN")), code=bytes([BY_NAME["NIL"].number, BY_NAME["RETURN"].number, *numbers]))


TRY = "NIL; @a:; DUP; TRY; POP; @b:; RETURN; @h:; SLIDE 1; RETURN"
DEEP_HANDLER = "NIL; NIL; NIL; @a:; DROP 2; @b:; RETURN; @h:; SLIDE 3; RETURN"
LOOP = "NIL; ITERATE; @n:; NEXT @e; POP; JUMP @n; @e:; NIL; RETURN"


def jump_to(offset: int) -> Image:
    """A jump to an offset that is no instruction's."""
    image = of(F("INT 5; RETURN; JUMP @a; @a:; NIL; RETURN"))
    good, bad = (bytes([BY_NAME["JUMP"].number, to]) for to in (5, offset))
    return changed(image, code=image.functions[0].code.replace(good, bad))


CASES: dict[str, Case] = {
    "V101": Case(raw(), [raw(255), raw(len(BY_NAME))]),
    "V102": Case(
        of(F("NIL; NIL; RANGE 1; NIL; NIL; MAP 2; POP; RETURN", stack=4)),
        [
            of(F("NIL; NIL; RANGE 2; RETURN")),
            of(F("NIL; MAP 1; RETURN")),
            raw(BY_NAME["INT"].number, 0x80, 0x00),
            raw(BY_NAME["INT"].number, 0x80),
            raw(BY_NAME["INT"].number, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F),
        ],
    ),
    "V103": Case(
        of(F('CONST 3; IS_VARIANT 3; POP; CONST 2; CALL_BUILTIN 5; RETURN')),
        [
            of(F("CONST 8; RETURN")),
            of(F("CONST 4; RETURN")),
            of(F("NIL; IS_VARIANT 2; RETURN")),
            of(F("VARIANT 2; RETURN")),
            of(F("NIL; GET_MEMBER 0; RETURN")),
            of(F("CALL_BUILTIN 8; RETURN"), **constants((i.K_BUILTIN, ["String", "nothing"]))),
            of(F("NIL; IS_ERROR 7; RETURN")),
        ],
    ),
    "V104": Case(
        of(F("NIL; STORE 1; LOAD 1; RETURN")),
        [of(F("NIL; STORE 2; NIL; RETURN")), changed(of(TWO), slots=1)],
    ),
    "V105": Case(
        of(F("NEW_CELL 1; CLOSURE 1; RETURN"), CAPTURES, names=[[["x", 3, 0, 2]], []]),
        [
            of(F("NEW_CELL 2; NIL; RETURN")),
            of(F("NEW_CELL 1; CLOSURE 1; RETURN"), CAPTURES.replace('["closure"]', "[]")),
            of(F("NEW_CELL 1; CALL 1; RETURN"), CAPTURES),
            changed(of(F("NIL; RETURN", flags='["closure"]')), captures=[0], cells=0),
            of(F("NIL; RETURN", flags='["method"]')),
            of(G, **types(["trait", "X", [[1, [0]]]])),
            of(F("NIL; RETURN", params='[["self", 0, null]]', captures="[0]", flags='["closure", "method"]')),
            of(F("NEW_CELL 1; CLOSURE 1; RETURN"), CAPTURES, pipelines=[i.Pipeline("P", 0, 0, [["a", 0, 0, [], 1]])]),
            of(G, names=[[["x", 4, 0, 2]]]),  # behind two locals and two cells
            of(G, names=[[["x", 2**32 - 1, 0, 2]]]),
        ],
    ),
    "V106": Case(
        exported(of(F("CALL 1; RETURN"), G), {"f": 1}, [1]),
        [
            of(F("CALL 2; RETURN"), G),
            entry(of(G), 1),
            exported(of(G), {"g": 1}, []),
            of(F("NIL; RETURN", params='[["a", 0, 9]]')),
            of(TWO, **types(["struct", "S", [["x", 0, True, 2]]])),
            of(TWO, **types(["trait", "X", [[1, [1]]]])),
            of(TWO, pipelines=[i.Pipeline("P", 0, 0, [["a", 0, 0, [], 1]])]),
            of(ONE, schemas=[i.Schema("Point", 1, SHAPE, plain_form(SHAPE), None, [1])]),
            of(ONE, models=[i.Model("M", "c", {}, 1, None, [], [])]),
        ],
    ),
    "V107": Case(
        of(
            F("NIL; CHECK 3; POP; NIL; NIL; STRUCT 1; GET_FIELD 1; RETURN"),
            TWO,
            **types(["struct", "T", [["t", 5, True]]], ["option", 4], ["trait", "a::X", [[1, [1]], [6, []]]], ["errors", [1]]),
            **constants((i.K_METHOD, ["a::X::m", 1])),
        ),
        [
            of(F("NIL; CHECK 4; RETURN")),
            of(F("STRUCT 0; RETURN")),
            of(F("NIL; GET_FIELD 16; RETURN")),
            of(G, **types(["array", 9])),
            of(G, **types(["trait", "X", [[5, []]]])),
            of(G, **types(["errors", [5]])),
            of(G, **types(["trait", "X", []]), **constants((i.K_METHOD, ["Y::m", 0]))),
            of(G, **types(["array", 4])),
            of(G, **types(*[["array", 5 + n] for n in range(300)], ["any"])),
            of(G, **types(["tuple", [0, 0]], *[["tuple", [4 + n, 4 + n]] for n in range(12)])),
            of(G, **types(["tuple", [0, 5]], ["option", 4])),
            of(F("NIL; RETURN", result=4)),
            of(F("NIL; RETURN", params='[["a", 4, null]]')),
            of(G, **constants((i.K_VARIANT, [1, 0]))),
            of(G, **constants((i.K_VARIANT, [2, 2]))),
            of(G, **types(["enum", "E", [["V", [0, 0], "x"]]])),
            of(G, schemas=[i.Schema("S", 0, {}, {}, None, [])]),
            of(G, pipelines=[i.Pipeline("P", 4, 0, [])]),
            of(G, pipelines=[i.Pipeline("P", 0, 4, [])]),
            of(ONE, pipelines=[i.Pipeline("P", 0, 0, [["a", 4, 0, [], 0]])]),
            of(ONE, pipelines=[i.Pipeline("P", 0, 0, [["a", 0, 4, [], 0]])]),
        ],
    ),
    "V108": Case(
        of(
            F("MODEL 0; POP; MEMORY 0; POP; SCHEMA 0; CONFIGURE 7; PIPELINE 0; RETURN"),
            ONE,
            TWO,
            pipelines=[i.Pipeline("P", 0, 3, [["a", 0, 1, [["retry", {"max": 2}]], 1], ["b", None, 3, [], 2]])],
        ),
        [
            of(F("MODEL 1; RETURN")),
            of(F("MEMORY 1; RETURN")),
            of(F("SCHEMA 1; RETURN")),
            of(F("PIPELINE 1; RETURN")),
            of(G, **constants((i.K_CONFIG, ["models", 1, "base"]))),
            of(G, **constants((i.K_CONFIG, ["connections", 0, "base"]))),
            of(G, models=[i.Model("M", "c", {}, None, 1, [], [])]),
            of(G, models=[i.Model("M", "c", {"fallback": ["N"]}, None, None, [], [])]),
        ],
    ),
    "V109": Case(
        of(F("JUMP @a; @a:; NIL; RETURN")),
        [jump_to(1), jump_to(99), of(F("NIL; RETURN; JUMP @e; @e:"))],
    ),
    "V110": Case(
        of(F("NIL; RETURN; NIL; THROW")),
        [of(F("NIL; RETURN; NIL")), of(F("TRUE; @a:; POP; TRUE; JUMP_IF @b; TRUE; JUMP @a; @b:; NIL; POP"))],
    ),
    "V111": Case(
        of(F("NIL; NIL; EQ; RETURN")),
        [of(F("POP; NIL; RETURN")), of(F("NIL; ADD; RETURN")), of(F("NIL; ARRAY 2; RETURN")), of(F("NIL; CALL 1; RETURN"), TWO)],
    ),
    "V112": Case(
        of(F("NIL; NIL; ADD; RETURN", stack=2)),
        [
            of(F("NIL; NIL; ADD; RETURN", stack=1)),
            of(F("NIL; RETURN", stack=1025)),
            of(F("NIL; RETURN", slots=4097)),
            of(F("NIL; RETURN", cells=4097)),
            of(F(DEEP_HANDLER, stack=3, more="handler @a @b @h 3")),
        ],
    ),
    "V113": Case(
        of(F("TRUE; JUMP_IF @a; NIL; JUMP @b; @a:; TRUE; @b:; RETURN")),
        [
            of(F("TRUE; JUMP_IF @a; NIL; @a:; NIL; RETURN")),
            of(F("NIL; NIL; RETURN")),
            of(F("@a:; NIL; TRUE; JUMP_IF @a; RETURN")),
        ],
    ),
    "V114": Case(
        of(F("TRUE; JUMP_IF @a; NIL; ITERATE; JUMP @b; @a:; NIL; ITERATE; @b:; DROP 1; NIL; RETURN")),
        [
            of(F("TRUE; JUMP_IF @a; NIL; ITERATE; JUMP @b; @a:; NIL; @b:; DROP 1; NIL; RETURN")),
            of(F("TRUE; JUMP_IF @a; NIL; JUMP @b; @a:; NIL; ITERATE; @b:; NIL; SLIDE 1; RETURN")),
        ],
    ),
    "V115": Case(
        of(F("TRUE; JUMP_IF @a; NIL; STORE 0; JUMP @b; @a:; NIL; STORE 0; @b:; LOAD 0; RETURN")),
        [
            of(F("LOAD 0; RETURN")),
            of(F("TRUE; JUMP_IF @a; NIL; STORE 0; @a:; LOAD_OWN 0; RETURN")),
            of(F("LOAD_CELL 0; RETURN")),
            of(F("NIL; STORE_CELL 0; NIL; RETURN")),
            of(F("CELL_OWN 0; RETURN")),
            of(F("NEW_CELL 0; CLOSURE 1; RETURN"), CAPTURES),
            of(F("NIL; @a:; TRY; STORE 0; @b:; NIL; RETURN; @h:; LOAD 0; SLIDE 1; RETURN", more="handler @a @b @h 0")),
        ],
    ),
    "V116": Case(
        of(F(LOOP)),
        [
            of(F("NIL; ITERATE; RETURN")),
            of(F("NIL; ITERATE; DUP; DROP 2; NIL; RETURN")),
            of(F("NIL; ITERATE; NIL; SWAP; DROP 2; NIL; RETURN")),
            of(F("NIL; NEXT @e; DROP 2; NIL; RETURN; @e:; NIL; RETURN")),
            of(F("NIL; NIL; ITERATE; SLIDE 1; DROP 1; NIL; RETURN")),
        ],
    ),
    "V117": Case(
        of(F(TRY, more="handler @a @b @h 1")),
        [
            of(F(TRY, more="handler @b @a @h 1")),
            of(F(TRY, more="handler @a @a @h 1")),
            of(F("NIL; @a:; TRY; POP; @b:; NIL; RETURN; @h:; POP; NIL; SLIDE 1; RETURN", more="handler @a @b @h 1")),
            of(F("NIL; @a:; TRY; @b:; TRY; @c:; TRY; @d:; RETURN; @h:; RETURN", more="handler @a @c @h 0\n handler @b @d @h 0")),
            of(F("NIL; @a:; TRY; @b:; TRY; @c:; TRY; @d:; RETURN; @h:; RETURN", more="handler @a @d @h 0\n handler @b @c @h 0")),
        ],
    ),
    "V119": Case(
        of(F("NIL; RETURN", params='[["a", 0, null], ["b", 0, 1]]'), code("NIL; RETURN", params='[["a", 0, null]]')),
        [
            of(F("NIL; RETURN", params='[["a", 0, null], ["b", 0, 1]]'), G),
            of(F("NIL; RETURN", params='[["a", 0, 1]]'), TWO),
            of(G, **constants((i.K_METHOD, ["m", 1, "a", "b"]))),
            of(F("NIL; RETURN", params='[["a", 0, null]]'), **types(["struct", "S", [["x", 0, True, 0]]])),
            of(TWO, pipelines=[i.Pipeline("P", 0, 0, [["a", 0, 0, [], 0]])]),
            of(ONE, TWO, schemas=[i.Schema("Point", 1, SHAPE, plain_form(SHAPE), None, [0, 1])]),
            of(ONE, pipelines=[i.Pipeline("P", 0, 0, [["a", 0, 0, [], 0], ["b", None, 0, [], 0]])]),
            of(F("CONST 8; RETURN"), **types(PAIR), **constants((i.K_VARIANT, [4, 0]))),
        ],
    ),
    "V120": Case(
        of(SUSPENDS, F("CALL 0; RETURN", flags='["suspends"]')),
        [
            of(SUSPENDS.replace('["suspends"]', "[]")),
            of(SUSPENDS, F("CALL 0; RETURN")),
            of(SUSPENDS, F("CLOSURE 0; RETURN")),
        ],
    ),
    "V122": Case(
        changed(of(F("NIL; at 0:2:1; RETURN"), names=[[["x", 0, 1, 2]]]), lines=bytes([0, 5, 0, 1, 1, 4, 1])),
        [
            of(F("NIL; RETURN", at="at 1:1:1")),
            changed(of(G), lines=b""),
            changed(of(G), lines=bytes([1, 5, 0, 1])),  # begins at the second instruction
            changed(of(G), lines=bytes([0, 5, 0, 1, 0, 4, 2])),  # one offset twice
            changed(of(G), lines=bytes([0, 5, 0, 1, 9, 4, 2])),  # behind the code
            changed(of(G), lines=bytes([0, 5, 0])),  # cut off
            changed(of(G), lines=bytes([0, 4, 1])),  # without file
            changed(of(G), lines=bytes([0, 5, 1, 1])),  # a file that is not there
            of(G, names=[[], []]),  # of more functions than there are
            of(G, names=[[["x", 0, 1, 1]]]),  # nowhere
            of(F("INT 300; RETURN"), names=[[["x", 0, 1, 3]]]),  # from the middle of an instruction
            of(G, names=[[["x", 0, 0, 3]]]),  # to behind the code
        ],
    ),
    "V123": Case(
        exported(entry(of(G, TWO), 0), {"two": 1}, [0]),
        [
            entry(of(TWO), 0),
            of(TWO, models=[i.Model("M", "c", {}, 0, None, [], [])]),
            exported(of(TWO), {}, [0]),
            exported(of(CAPTURES.replace("LOAD_CELL 0", "NIL")), {"inner": 0}, []),
        ],
    ),
    "V125": Case(
        of(code("NIL; RETURN", name="std::text::<2>.x#1"), **constants((i.K_STRING, "\U0001f600 \x00"))),
        [
            of(code("NIL; RETURN", name="two words")),
            of(code("NIL; RETURN", name="")),
            of(F("NIL; RETURN", params='[["a-b", 0, null]]')),
            of(G, **types(["struct", "S", [["1a", 0, True]]])),
            of(G, **types(["enum", "a'b", []])),
            of(G, models=[i.Model("M\n", "c", {}, None, None, [], [])]),
            of(ONE, pipelines=[i.Pipeline("P", 0, 0, [["a b", 0, 0, [], 0]])]),
            of(G, **constants((i.K_METHOD, ["__import__('os')", 0]))),
            of(G, **constants((i.K_ERROR, ["ToolError", "a b"]))),
            of(F("NIL; GET_MEMBER 8; RETURN"), **constants((i.K_STRING, "a b"))),
            exported(of(G), {"é": 0}, []),
            of(G, names=[[["a b", 0, 0, 2]]]),
        ],
    ),
}


@pytest.mark.parametrize("rule", CASES)
def test_near_miss_passes(rule: str) -> None:
    assert isinstance(verify(CASES[rule].near, BUILTINS), Verified)


REFUSED = [(rule, number) for rule, case in CASES.items() for number in range(len(case.refused))]


@pytest.mark.parametrize(("rule", "number"), REFUSED)
def test_rule_refuses(rule: str, number: int) -> None:
    image = CASES[rule].refused[number]
    with pytest.raises(ImageError) as caught:
        verify(image, BUILTINS)
    assert caught.value.code == rule
    assert rules.RULES[rule] in caught.value.message


@pytest.mark.parametrize(("rule", "number"), REFUSED)
def test_nothing_else_refuses(rule: str, number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the rule taken out of the table the same image passes, so the test above fails without it."""
    monkeypatch.delitem(rules.RULES, rule)
    assert isinstance(verify(CASES[rule].refused[number], BUILTINS), Verified)


def test_every_rule_has_cases() -> None:
    assert CASES.keys() | {"V126"} == rules.RULES.keys()
    assert all(len(case.refused) >= 2 for case in CASES.values())
    known = rules.RULES.keys() | rules.NOT_APPLICABLE.keys()
    assert known == {f"V{number}" for number in range(101, 127)}
    assert not rules.RULES.keys() & rules.NOT_APPLICABLE.keys()


@pytest.mark.parametrize("rule", CASES)
def test_images_of_cases_survive_encoding(rule: str) -> None:
    """The refused images are wrong for the verifier alone: the decoder takes them."""
    for image in [CASES[rule].near, *CASES[rule].refused]:
        assert decode(encode(image)) == image


def test_refusal_names_function_instruction_operand_and_rule() -> None:
    with pytest.raises(ImageError) as caught:
        verify(of(G, F("INT 7; NIL; STORE 9; RETURN", name="main::f")), BUILTINS)
    assert str(caught.value) == (
        "V104: function `main::f`, offset 3, STORE 9: the function has 2 locals "
        "(rule: a local operand is a slot of the function, and parameters have slots)"
    )


def test_only_the_verifier_makes_a_verified() -> None:
    with pytest.raises(TypeError):
        Verified(of(G), (), object())


def shrinking(ways: int) -> Image:
    """A block that is reached in `ways` ways, each with one assigned local less than the one before."""
    enter = [f"TRUE; JUMP_IF @e{n}; NIL; STORE {n}" for n in range(ways)]
    leave = [f"@e{n}:; JUMP @join" for n in reversed(range(ways))]
    return of(F("; ".join([*enter, "@join:; NIL; RETURN", *leave]), slots=ways))


def test_bounded_visits() -> None:
    verify(shrinking(rules.MOST_VISITS - 1), BUILTINS)
    for ways in (rules.MOST_VISITS, 400):
        with pytest.raises(ImageError, match="^V126: function `f`, offset .* visited more than 32 times"):
            verify(shrinking(ways), BUILTINS)


def test_bounded_visits_is_a_rule_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(rules.RULES, "V126")
    verify(shrinking(400), BUILTINS)


def test_bounded_instructions() -> None:
    image = of(F("NIL; POP; NIL; RETURN"), G)
    verify(image, BUILTINS, Limits(instructions=6))
    for most in (3, 5):
        with pytest.raises(ImageError, match="^V126"):
            verify(image, BUILTINS, Limits(instructions=most))


@pytest.mark.parametrize(
    ("limits", "refused"),
    [(Limits(stack=8), False), (Limits(stack=7), True), (Limits(locals=2), False), (Limits(locals=1), True)],
)
def test_limits_of_the_host(limits: Limits, refused: bool) -> None:
    image = of(G)
    if refused:
        with pytest.raises(ImageError, match="^V112"):
            verify(image, BUILTINS, limits)
    else:
        verify(image, BUILTINS, limits)


def test_facts() -> None:
    facts = verify(of(F(LOOP)), BUILTINS).functions[0]
    names = [OPCODES[number].name for _, number, _ in facts.instructions]
    assert names == ["NIL", "ITERATE", "NEXT", "POP", "JUMP", "NIL", "RETURN"]
    assert facts.depths == [0, 1, 1, 2, 1, 0, 1]
    assert facts.iterators == [0, 0, 1, 1, 1, 0, 0]
    assert facts.leaders == [0, 2, 3, 5]
    assert facts.index_of == {0: 0, 1: 1, 2: 2, 4: 3, 5: 4, 7: 5, 8: 6}


def test_code_that_is_never_reached_has_no_depth() -> None:
    facts = verify(of(F("NIL; RETURN; POP; POP; JUMP @a; @a:; THROW")), BUILTINS).functions[0]
    assert facts.depths == [0, 1, -1, -1, -1, -1]


def test_innermost_handler_takes_the_error() -> None:
    body = "NIL; @a:; NIL; @b:; TRY; POP; @c:; NIL; POP_TRY; @d:; RETURN; @in:; POP; RETURN; @out:; SLIDE 1; RETURN"
    inner, outer = "handler @b @c @in 1", "handler @a @d @out 1"
    facts = verify(of(F(body, more=f"{inner}\n {outer}")), BUILTINS).functions[0]
    at = [OPCODES[number].name for _, number, _ in facts.instructions].index("SLIDE")
    assert facts.depths[at] == 2


def test_many_nested_ranges_cost_no_more_than_their_number() -> None:
    """A few thousand handlers around each other: quadratic work would take minutes (G-2.6)."""
    count = 3000
    starts = "; ".join(f"@s{n}:; NIL; TRY; POP" for n in range(count))
    handlers = "\n ".join(f"handler @s{n} @end @h 0" for n in reversed(range(count)))
    verify(of(F(f"{starts}; @end:; NIL; RETURN; @h:; RETURN", more=handlers)), BUILTINS)


def test_random_code_meets_nothing_but_image_errors() -> None:
    source = random.Random(11)
    bodies = [case.near.functions[0].code for case in CASES.values()]
    outcomes = Counter[str]()
    image = of(F("NIL; RETURN"), G)
    for _ in range(6000):
        code_bytes = bytearray(source.choice(bodies))
        for _ in range(source.randrange(1, 4)):
            code_bytes[source.randrange(len(code_bytes))] = source.randrange(len(OPCODES) + 3)
        changed(image, code=bytes(code_bytes), lines=CASES["V101"].near.functions[0].lines)
        try:
            verify(image, BUILTINS)
            outcomes["passes"] += 1
        except ImageError as error:
            outcomes[error.code] += 1
    assert len(outcomes) > 10 and outcomes["passes"] > 100, outcomes


@pytest.mark.parametrize("number", range(3))
def test_what_is_never_called_is_verified_before_anything_runs(number: int) -> None:
    """V-3.7: linking waits for a call, verification for nothing."""
    bodies = ["NIL; RETURN"] * 3
    verify(of(*[F(body) for body in bodies]), BUILTINS)
    bodies[number] = "POP; NIL; RETURN"
    with pytest.raises(ImageError) as refused:
        verify(of(*[F(body) for body in bodies]), BUILTINS)
    assert refused.value.code == "V111"
