"""language.md section 1."""

from __future__ import annotations

import pytest
from concerto.compiler.diagnostics import Diagnostics
from concerto.compiler.source import Source
from concerto.compiler.syntax.lexer import MAX_TOKENS, TokenList, lex
from concerto.compiler.syntax.parse import decode_source


def lexed(text: str) -> tuple[TokenList, list[str]]:
    diagnostics = Diagnostics()
    source = Source("t.conc", text)
    tokens = lex(source, diagnostics)
    return tokens, [f"{d.code}@{d.span.start}-{d.span.end}" for d in diagnostics.ordered()]


def kinds(text: str) -> str:
    tokens, found = lexed(text)
    assert found == []
    return " ".join(tokens.types[:-1])


def values(text: str) -> list[object]:
    tokens, found = lexed(text)
    assert found == []
    return list(tokens.values[:-1])


def value(text: str) -> object:
    (only,) = values(text)
    return only


def test_source_text_is_utf8_without_its_byte_order_mark() -> None:
    source = decode_source("t.conc", b"\xef\xbb\xbflet", Diagnostics())
    assert source is not None and source.text == "let"


def test_invalid_utf8_names_the_byte_offset() -> None:
    diagnostics = Diagnostics()
    assert decode_source("t.conc", "aé".encode() + b"\xff", diagnostics) is None
    (found,) = diagnostics.found
    assert found.code == "E0001" and "offset 3" in found.message and found.span[1:] == (2, 3)


def test_a_file_over_the_limit_is_refused() -> None:
    diagnostics = Diagnostics()
    assert decode_source("t.conc", b" " * (8 * 1024 * 1024 + 1), diagnostics) is None
    assert [d.code for d in diagnostics.found] == ["E0114"]


@pytest.mark.parametrize("control", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069", ids=ascii)
@pytest.mark.parametrize(
    "where", ["a {} b", '"{}"', "'{}'", '"""{}"""', "// {}", "/* {} */", "/// {}\na", 'r#"{}"#', '"a ${{b}} {}"', "a{}b"]
)
def test_bidirectional_controls_are_refused_everywhere(where: str, control: str) -> None:
    text = where.format(control)
    at = text.index(control)
    assert lexed(text)[1] == [f"E0002@{at}-{at + 1}"]


def test_shebang_is_a_comment_on_the_first_line_only() -> None:
    tokens, found = lexed("#!/usr/bin/concerto\nx")
    assert (tokens.types[:-1], found) == (["IDENT"], [])
    assert tokens.comments[0].text == "#!/usr/bin/concerto"
    assert lexed("\n#!x")[1][0].startswith("E0002@1")


def test_blanks_only_separate() -> None:
    assert kinds(" a\t\r\n\fb") == "IDENT IDENT"


def test_positions_count_code_points() -> None:
    tokens, _ = lexed('"é😀" x')
    assert (tokens.starts[1], tokens.ends[1]) == (5, 6)


# ---------------------------------------------------------------- comments


def test_comments_nest_and_are_kept() -> None:
    tokens, found = lexed("a /* x /* y */ z */ b // end\r\nc")
    assert (tokens.types[:-1], found) == (["IDENT"] * 3, [])
    assert [(c.text, c.own_line) for c in tokens.comments] == [("/* x /* y */ z */", False), ("// end", False)]


def test_comment_on_its_own_line() -> None:
    tokens, _ = lexed("a\n  // x\nb")
    assert tokens.comments[0].own_line


def test_unterminated_comment() -> None:
    assert lexed("a /* /* */")[1] == ["E0006@2-4"]


def test_documentation_joins_lines_and_precedes_a_token() -> None:
    tokens, _ = lexed("/// one\n///  two\n///\nfn")
    assert tokens.docs == {21: "one\n two\n"}


def test_only_consecutive_lines_are_one_documentation() -> None:
    tokens, _ = lexed("/// one\n\n/// two\nfn //// no\nx")
    assert list(tokens.docs.values()) == ["two"]


def test_four_slashes_are_no_documentation() -> None:
    assert lexed("//// x\nfn")[0].docs == {}


def test_no_comment_inside_a_string() -> None:
    assert value('"a // b /* c"') == "a // b /* c"


def test_comments_inside_a_hole() -> None:
    assert kinds('"${ /* } */ a // "\n }"') == "ISTR_START IDENT ISTR_END"


# ---------------------------------------------------------------- words and operators


def test_hard_keywords() -> None:
    text = (
        "let mut const fn struct enum trait impl pub use mod if else match for while loop break continue return in as "
        "try catch throw async await true false nil self"
    )
    assert kinds(text) == text.upper()


def test_soft_words_are_identifiers_for_the_lexer() -> None:
    assert kinds("model emit race with super crate Self _ _a1") == " ".join(["IDENT"] * 9)


def test_operators_match_longest() -> None:
    text = "..= ** == != <= >= && || |> ?? .. -> => :: += -= *= /= %= + - * / % < > ! = . | ? @ ( ) { } [ ] , ; :"
    assert kinds(text.replace(" ", "\n")) == kinds(text)
    assert kinds("..=...") == "RANGEEQ RANGE DOT"
    assert kinds("a|||>b") == "IDENT OROR PIPEGT IDENT"


@pytest.mark.parametrize("char", list("&^~#$`\\“é"))
def test_other_characters(char: str) -> None:
    assert lexed(f"a {char} b")[1] == ["E0002@2-3"]


def test_help_for_a_lone_ampersand_and_for_curly_quotes() -> None:
    diagnostics = Diagnostics()
    lex(Source("t", "a & “"), diagnostics)
    helps = [d.help or "" for d in diagnostics.found]
    assert "&&" in helps[0] and "straight" in helps[1]


# ---------------------------------------------------------------- numbers


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", 0), ("1_000", 1000), ("1_", 1), ("007", 7), ("9223372036854775807", 2**63 - 1),
        ("9223372036854775808", 2**63), ("0xFF", 255), ("0Xf_f", 255), ("0o17", 15), ("0b1_01", 5),
        ("0x7fffffffffffffff", 2**63 - 1), ("1.5", 1.5), ("1e3", 1000.0), ("1_0.2_5e-1", 1.025), ("2E+2", 200.0),
    ],
)  # fmt: skip
def test_numbers(text: str, expected: object) -> None:
    assert value(text) == expected and type(value(text)) is type(expected)


@pytest.mark.parametrize("text", ["12ab", "0b12", "0x", "0x_", "0o8", "1e", "1.5x", "1_a", "0xg", "1e5z"])
def test_malformed_numbers(text: str) -> None:
    assert lexed(text)[1] == [f"E0009@0-{len(text)}"]


@pytest.mark.parametrize("text", ["9223372036854775809", "0x8000000000000000", "9" * 30, "9" * 5000, "0b" + "1" * 64])
def test_integers_out_of_range(text: str) -> None:
    assert lexed(text)[1] == [f"E0010@0-{len(text)}"]


def test_a_dot_belongs_to_a_number_only_before_a_digit() -> None:
    assert kinds("1..5") == "INT RANGE INT"
    assert kinds("7.abs()") == "INT DOT IDENT LPAREN RPAREN"
    assert kinds("1.5..2.5") == "FLOAT RANGE FLOAT"


def test_after_a_dot_only_digits_are_taken() -> None:
    assert values("t.0.1") == ["t", ".", 0, ".", 1]
    assert lexed("t.0x1")[1] == ["E0009@2-5"]


# ---------------------------------------------------------------- strings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"a"', "a"), ("'a'", "a"), ('""', ""), ("''", ""), ("'\"'", '"'), ('"\'"', "'"),
        (r'"\\\"\'\n\r\t\0\$"', "\\\"'\n\r\t\0$"), (r'"\u{41}\u{1F600}"', "A😀"), ('"$ $x $"', "$ $x $"),
        (r'"\${x}"', "${x}"), ('"""a"b""c"""', 'a"b""c'), ('r#"a\\n${b}"#', "a\\n${b}"),
        ('r##"a"#b"##', 'a"#b'), ('r#"a\r\nb"#', "a\nb"), ('""""a"""', '"a'),
    ],
)  # fmt: skip
def test_strings(text: str, expected: str) -> None:
    assert value(text) == expected


def test_raw_prefix_only_before_a_hash() -> None:
    assert kinds('r"a"') == "IDENT STRING"
    assert kinds("r + bar") == "IDENT PLUS IDENT"
    assert lexed("r# x")[1] == ["E0012@0-2"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (r'"\q"', ["E0007@1-3"]), (r'"a\u{}"', ["E0008@2-6"]), (r'"\u{D800}"', ["E0008@1-9"]), (r'"\u41"', ["E0008@1-3"]),
        (r'"\u{1234567}"', ["E0008@1-12"]), (r'"\u{110000}"', ["E0008@1-11"]), ('"a', ["E0003@0-1"]),
        ('"""a"', ["E0003@0-3"]), ("'a", ["E0003@0-1"]), ('r#"a"', ["E0005@0-3"]), ('"a\nb', ["E0004@0-2"]),
        ("'a\nb", ["E0004@0-2"]), ('"${}"', ["E0011@1-4"]), ('"${ /* x */ }"', ["E0011@1-13"]),
        ('"${a', ["E0003@0-1"]), ('"""\n\\q\n"""', ["E0007@4-6"]),
    ],
)  # fmt: skip
def test_malformed_strings(text: str, expected: list[str]) -> None:
    assert lexed(text)[1] == expected


def test_lexing_goes_on_after_each_error() -> None:
    assert [e[:5] for e in lexed('"a\n & 12ab "\\q" /*')[1]] == ["E0004", "E0002", "E0009", "E0007", "E0006"]


def test_holes_nest() -> None:
    text = '''"a${ f("b${c}", { "k": '}' }) }d${e}"'''
    assert kinds(text) == (
        "ISTR_START IDENT LPAREN ISTR_START IDENT ISTR_END COMMA LBRACE STRING COLON STRING RBRACE RPAREN"
        " ISTR_MID IDENT ISTR_END"
    )
    assert [v for v, k in zip(values(text), kinds(text).split(), strict=True) if k.startswith("ISTR")] == [
        "a", "b", "", "d", "",
    ]  # fmt: skip


def test_offsets_of_string_pieces() -> None:
    tokens, _ = lexed('"a${b}c"')
    assert list(zip(tokens.starts, tokens.ends, strict=True))[:3] == [(0, 4), (4, 5), (5, 8)]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("\n    a\n      b\n    ", "a\n  b"),  # (a), (b), (c)
        ("  \n  a\n  ", "a"),
        ("a\n  b\n  ", "a\nb"),
        ("\n  a\n b\n  ", "a\nb"),  # a line with fewer blanks loses what it has
        ("\n  a\n \n  b\n  ", "a\n\nb"),  # a blank line becomes empty
        ("\n  a\n    \n  b\n  ", "a\n\nb"),
        ("\n  a", "  a"),  # without (b) only (a)
        ("\n  a\n b", "  a\n b"),
        ("  a  ", "  a  "),
        ("   ", "   "),
        ("\n   ", ""),
        ("\n\n  ", ""),
        ("\n  a\n\n  ", "a\n"),
        ("\r\n  a\r\n  b\r\n  ", "a\nb"),
        ("\n\ta\n\t", "a"),
        ("\n  \\u{20}a\\n  b\n  ", " a\n  b"),  # escapes make no literal line and no blank
    ],
)
def test_multi_line_strings_are_trimmed(body: str, expected: str) -> None:
    assert value(f'"""{body}"""') == expected


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("\n    a ${x}\n      b${y}  \n    ", ["a ", "\n  b", "  "]),
        ("\n    ${x}\n    ", ["", ""]),
        ("\n      ${x}\n    ", ["  ", ""]),
        ("${x}\n  a\n  ", ["", "\na"]),
        ("  ${x}\n  ", ["  ", ""]),
        ("\n  ${x}  ", ["  ", "  "]),
    ],
)
def test_trimming_looks_at_literal_text_only(body: str, expected: list[str]) -> None:
    text = f'"""{body}"""'
    parts = [v for v, k in zip(values(text), kinds(text).split(), strict=True) if k.startswith("ISTR")]
    assert parts == expected


# ---------------------------------------------------------------- labels


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("'a: for", "LABEL COLON FOR"), ("'a :\nloop 'x'", "LABEL COLON LOOP STRING"), ("'a: x\n", "LABEL COLON IDENT"),
        ("break 'a;", "BREAK LABEL SEMI"), ("continue 'a }", "CONTINUE LABEL RBRACE"), ("break 'a'", "BREAK STRING"),
        ("'a'", "STRING"), ("{'a': 'b'}", "LBRACE STRING COLON STRING RBRACE"),
        ("'a: b'", "STRING"), ("f('a::b')", "IDENT LPAREN STRING RPAREN"),
    ],
)  # fmt: skip
def test_labels(text: str, expected: str) -> None:
    assert kinds(text) == expected


def test_too_many_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_TOKENS == 1_000_000
    monkeypatch.setattr("concerto.compiler.syntax.lexer.MAX_TOKENS", 10)
    assert lexed(";" * 9)[1] == []
    assert lexed(";" * 10)[1] == ["E0114@10-10"]
