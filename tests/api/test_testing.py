"""`Program.test` (O-9.6, O-8.3)."""

from __future__ import annotations

import concerto
import pytest

PROGRAM = concerto.compile("""
hashmap h: HashMap<String, Int> = HashMap::new();
model M { provider: openai, base: "m" }
@test("one :: waits") fn one() {
    let start = std::time::now_ms();
    std::time::sleep(3600000);
    assert(std::time::now_ms() - start >= 3600000);
    h.set("a", 1);
    emit("seen", [1]);
}
@test("two") fn two() { assert_eq(h.len(), 1); }
@test("three") @expect_fail("no") fn three() { panic("no way"); }
@test("four") fn four() { M.execute("x")?; }
""")


def test_outcomes_in_the_order_of_the_source() -> None:
    report = PROGRAM.test(env={})
    assert (report.passed, report.failed) == (2, 2)
    one, two, three, four = report.tests
    assert (one.description, one.passed, one.failure, one.emits) == ("one :: waits", True, None, [concerto.Emit("seen", [1])])
    assert (two.failure, two.place) == ("assertion failed: 0 != 1", ("main.conc", 11, 25))
    assert (three.passed, three.expected_failure) == (True, True)
    assert not four.passed and "OPENAI_API_KEY" in str(four.failure)


def test_filter_and_options() -> None:
    assert [test.description for test in PROGRAM.test("o").tests] == ["one :: waits", "two", "four"]
    assert PROGRAM.test("four", offline=True).passed == 1
    report = PROGRAM.test("one", budgets=concerto.Budgets(seconds=1))
    assert report.tests[0].failure == "time limit exceeded: 1 s (budget `seconds`)"
    endless = concerto.compile("@test fn endless() { loop { } }").test(budgets=concerto.Budgets(seconds=0.02))
    assert endless.tests[0].failure == "time limit exceeded: 0.02 s (budget `seconds`)"
    for options in ({"nope": 1}, {"emit_timeout_ms": 1}):
        with pytest.raises(TypeError):
            PROGRAM.test(**options)
    with pytest.raises(ValueError, match="E4001"):
        PROGRAM.test(connections={"openai": {"nope": 1}})
    with pytest.raises(ValueError, match=r'E4004: connection lab: unknown provider "nobody"; providers are openai, anthropic'):
        PROGRAM.test(connections={"lab": {"provider": "nobody"}})


def test_an_error_of_a_test_names_where_it_was_made() -> None:
    source = """fn read(text: String) -> Result<Int, ParseError> {
    text.parse_int()
}
@test("one") fn one() {
    read("x")?;
}
"""
    (test,) = concerto.compile(source).test().tests
    assert test.place == ("main.conc", 2, 5)
    assert test.trace == (concerto.Frame("read", "main.conc", 2, 5), concerto.Frame("one", "main.conc", 5, 5))


def test_a_mocked_agent_whose_settings_do_not_fit_fails_its_test() -> None:
    source = """agent A { connector: x }
@test("one") fn one() { mock A { response: "hi" } A.execute("a")?; }
@test("two") fn two() {}
"""
    one, two = concerto.compile(source).test(agents={"x": {"timeout": -5}}).tests
    takes = 'a number above 0, at most 10000000, or a text such as "30s"'
    assert one.failure == f"mock A: agent A: timeout does not take -5; it is {takes}"
    assert two.passed
