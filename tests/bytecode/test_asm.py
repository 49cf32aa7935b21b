"""Disassembler and assembler: the text gives back the same bytes (V-3.6)."""

from __future__ import annotations

import json
from functools import partial
from time import process_time
from typing import Any

import pytest
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.asm import AsmError, assemble
from concerto.vm.bytecode.disasm import as_data, disassemble, disassemble_function
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.hashing import hash_functions
from hypothesis import given

from tests.least import least

from .builder import code, lines_run, with_functions
from .strategies import SLOW, images
from .test_verify import CASES


@SLOW
@given(images())
def test_text_gives_back_the_bytes(image: i.Image) -> None:
    data = encode(image)
    text = disassemble(decode(data))
    assert encode(assemble(text)) == data
    assert all(line.isprintable() for line in text.split("\n"))
    json.dumps(as_data(image), allow_nan=False)


@pytest.mark.parametrize("rule", CASES)
def test_images_of_the_verifier(rule: str) -> None:
    for image in [CASES[rule].near, *CASES[rule].refused]:
        assert encode(assemble(disassemble(image))) == encode(image)


# ---------------------------------------------------------------- the text


def test_listing() -> None:
    body = "LOAD 0; JUMP_IF @a; at 0:2:5; CONST 2; CALL_METHOD 4; RETURN; @a:; NIL; RETURN"
    text = disassemble_function(with_functions(code(body, params='[["n", 0, null]]')), 0)
    assert text[text.index("  code") :] == """\
  code
    at 0:1:1  ; "main.conc"
    LOAD 0  ; n
    JUMP_IF @9
    at 0:2:5  ; "main.conc"
    CONST 2  ; "name"
    CALL_METHOD 4  ; ["push", 1]
    RETURN
  @9:
    NIL
    RETURN
  end
"""


def test_source_lines_are_shown() -> None:
    image = with_functions(code("NIL; RETURN", at="at 0:2:5"), source=["fn f() {\n  a(\"b\") \u202e }"])
    assert "    at 0:2:5  ; \"b\") \\u202e }\n" in disassemble_function(image, 0)


def test_operands_are_explained() -> None:
    text = disassemble(with_functions(code("NEW_CELL 1; CALL 0; NIL; CHECK 3; MODEL 0; MEMORY 0; SCHEMA 0; STRUCT 1")))
    for line in ('CALL 0  ; "f"', "CHECK 3  ; array<struct Point>", 'MODEL 0  ; "M"', "STRUCT 1  ; struct Point"):
        assert line in text


def test_hash_is_written_only_where_it_differs() -> None:
    image = with_functions(code("NIL; RETURN"))
    assert "  hash" not in disassemble(image)
    image.functions[0].hash = bytes(32)
    assert "  hash" in disassemble(image)
    assert assemble(disassemble(image)) == image


def test_data_for_json() -> None:
    data = as_data(with_functions(code("CONST 2; RETURN")))
    assert data["functions"][0]["code"] == [
        {"offset": 0, "opcode": "CONST", "operand": 2, "means": '"name"'},
        {"offset": 2, "opcode": "RETURN"},
    ]
    assert data["constants"][2] == {"kind": "string", "value": "name"}
    assert data["header"]["name"] == "program"


GOOD = disassemble(with_functions(code("NIL; @a:; JUMP @a")))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[header]", "[head]", r"line 3: section \[header\] expected"),
        ("    JUMP @1", "    JMP @1", "'JMP' is no opcode"),
        ("    JUMP @1", "    JUMP", "ends too early"),
        ("    JUMP @1", "    JUMP @2", "there is no label @2"),
        ("    JUMP @1", "    JUMP @1 2", "'2' is too much"),
        ("    JUMP @1", "    INT -1", "is no operand"),
        ("    JUMP @1", "    INT 99999999999", "is no operand"),
        ("    JUMP @1", "    INT 9999999999", "outside 0..4294967295"),
        ("  @1:", "  @1:\n  @1:", "@1 stands twice"),
        ("at 0:1:1", "at 0:1", "a position is file:line:column"),
        ("at 0:1:1", "at 0:1:x", "a position is file:line:column"),
        ("  slots 2", "  slots two", "no value"),
        ("  slots 2", "  slots -2", "a number from 0"),
        ("  slots 2\n", "", "fields are missing"),
        ("  slots 2", "  slits 2", "fields are missing"),
        ("  flags []", '  flags ["loud"]', "'loud' is no flag"),
        ("  flags []", "  flags 7", "a list of flags expected"),
        ("  flags []", "  hash 7", "hexadecimal digits"),
        ("0 int 300", "1 int 300", "`0` expected"),
        ("0 int 300", "0 integer 300", "is no kind of constant"),
        ("0 int 300", "0 int 3.5", "an Int of 64 bits expected"),
        ("0 int 300", '0 string "\\ud800"', r"^constants\[0\]: valid Unicode expected"),
        ("0 int 300", '0 method ["\\ud800", 0]', r"^constants\[0\]\[0\]: valid Unicode expected"),
        ('function 0 "f"', 'function 0 "\\udfff"', r"^functions\[0\].name: valid Unicode expected"),
        ('  steps {"window": 4}', '  steps {"keys": ["\\ud800"]}', r"^memories\[0\].steps: valid Unicode expected"),
        ("[source]", '[source]\n0 "\\ud800"', r"^source\[0\]: valid Unicode expected"),
        ("[externs]", "[externs]\n[more]", "nothing follows"),
        ("  end", "", "is no opcode"),
    ],
)
def test_errors(old: str, new: str, message: str) -> None:
    assert old in GOOD
    with pytest.raises(AsmError, match=message):
        assemble(GOOD.replace(old, new, 1))


@pytest.mark.parametrize(
    ("line", "written"),
    [
        ("    JUMP @1", "    JMP @1"),
        ("    JUMP @1", "    JUMP @2"),
        ("    JUMP @1", "    INT 9999999999"),
        ("  slots 2", "  handler @1 @2 @1 0\n  slots 2"),
        ("  slots 2", "  handler @1 @1 @1 9999999999\n  slots 2"),
    ],
)
def test_error_names_the_line(line: str, written: str) -> None:
    with pytest.raises(AsmError) as caught:
        assemble(GOOD.replace(line, written, 1))
    assert GOOD.split("\n")[caught.value.line - 1] == line


@pytest.mark.parametrize(("line", "written"), [("  slots 2\n", ""), ("at 0:1:1", "at 0:9999999999:1")])
def test_error_of_a_function_as_a_whole_names_its_line(line: str, written: str) -> None:
    with pytest.raises(AsmError) as caught:
        assemble(GOOD.replace(line, written, 1))
    assert GOOD.split("\n")[caught.value.line - 1].startswith("function 0")


@pytest.mark.parametrize("length", range(0, len(GOOD.rstrip()), 13))
def test_every_prefix_is_an_error(length: int) -> None:
    with pytest.raises(AsmError):
        assemble(GOOD[:length])


# ---------------------------------------------------------------- hashes of functions


def test_hash_follows_content_not_numbers() -> None:
    """The same function among other constants, functions and types keeps its hash; so does one on other lines."""
    alone = with_functions(code("CONST 2; CALL 1; RETURN"), code("NIL; RETURN", name="g"))
    shifted = with_functions(
        code("NIL; RETURN", name="other"),
        code("NIL; RETURN", name="g"),
        code("CONST 3; CALL 1; RETURN", at="at 0:7:7", result=1),
        constants=[(i.K_INT, 1), (i.K_INT, 2), (i.K_INT, 3), (i.K_STRING, "name")],
        types=[["int"], ["any"]],
    )
    shifted.functions[1].result = 1
    assert hash_functions(alone)[0] == hash_functions(shifted)[2]
    assert hash_functions(alone)[1] == hash_functions(shifted)[1]


@pytest.mark.parametrize(
    "change",
    [
        {"constants": [(i.K_STRING, "other")]},
        {"types": [["any"], ["struct", "Point", [["x", 0, True], ["z", 0, False]]]]},
        {"memories": [i.Memory("log", 21, {}, None, None)]},
        {"connections": [i.Connection("openai", {"key": "OTHER_KEY"})]},
    ],
)
def test_hash_covers_what_operands_name(change: dict[str, Any]) -> None:
    base = {"constants": [(i.K_STRING, "name")]}
    body = code("CONST 0; POP; NIL; CHECK 1; POP; MODEL 0; RETURN")
    assert hash_functions(with_functions(body, **base)) != hash_functions(with_functions(body, **(base | change)))


def test_hash_covers_callees_through_recursion() -> None:
    """f and g call each other; a change in h, which only g calls, changes all three; u stays."""
    texts = [code("CALL 1; RETURN"), code("CALL 0; POP; CALL 2; RETURN", name="g"), code("NIL; RETURN", name="h")]
    before = hash_functions(with_functions(*texts, code("NIL; RETURN", name="u")))
    texts[2] = code("TRUE; RETURN", name="h")
    after = hash_functions(with_functions(*texts, code("NIL; RETURN", name="u")))
    assert [a == b for a, b in zip(before, after, strict=True)] == [False, False, False, True]


@pytest.mark.parametrize(
    ("count", "body", "digest"),
    [
        (3, "NIL; RETURN", "36a6d49fddfb19f3"),
        (3, "LOAD 0; NIL; CALL_METHOD 4; RETURN", "ad0bc0280a14af6f"),
        (256, "NIL; RETURN", "3ae619ca8f9014ad"),
        (256, "LOAD 0; NIL; CALL_METHOD 4; RETURN", "c86c6055a1bc9451"),
    ],
)
def test_hash_of_calls_found_at_run_time_is_that_of_earlier_releases(count: int, body: str, digest: str) -> None:
    """Two calls by the name of several methods, which call each other or do not."""
    assert hash_functions(calling(2, count, body))[0].hex().startswith(digest)


def calling(calls: int, methods: int, body: str) -> i.Image:
    """A function with calls by the name `push`, and as many methods of that name."""
    call = "NIL; CALL_METHOD 4; POP; " * (calls - 1) + "NIL; CALL_METHOD 4; RETURN"
    form = {"params": '[["self", 0, null]]', "flags": '["method", "suspends"]'}
    return with_functions(code(call, flags='["suspends"]'), *(code(body, name=f"S{n}::push", **form) for n in range(methods)))


def test_hash_covers_every_method_of_a_long_list() -> None:
    image = calling(1, 400, "NIL; RETURN")
    before = hash_functions(image)
    image.functions[400] = calling(1, 400, "TRUE; RETURN").functions[400]
    after = hash_functions(image)
    assert [number for number in range(401) if before[number] != after[number]] == [0, 400]


@pytest.mark.parametrize("body", ["NIL; RETURN", "LOAD 0; NIL; CALL_METHOD 4; RETURN"])
def test_hashing_is_linear_in_calls_and_methods(body: str) -> None:
    """No call has an edge to each method of its name."""
    small, large = (lines_run(partial(hash_functions, calling(n, n, body))) for n in (300, 1200))
    assert large < 5 * small


def test_hashing_is_linear_in_traits_with_one_method() -> None:
    def seconds(count: int) -> float:
        types = [["any"], *(["trait", f"T{n}", [[0, [0]]]] for n in range(count))]
        image = with_functions(code("NIL; RETURN", name="S::m", params='[["self", 0, null]]'), types=types, schemas=[])
        began = process_time()
        hash_functions(image)
        return process_time() - began

    small = min(seconds(2_500) for _ in range(3))
    assert least(lambda: seconds(10_000), 9 * small) < 9 * small


def test_hash_of_a_long_chain_and_a_large_ring() -> None:
    """Neither recursion of the host nor quadratic work."""
    count = 2000
    for last in (0, count - 1):
        calls = [code(f"CALL {(n + 1) if n + 1 < count else last}; RETURN", name=f"f{n}") for n in range(count)]
        assert len(set(hash_functions(with_functions(*calls)))) == count
