"""What the command line says of prompt caches: a note, a share per memory, a line per request (O-9.13, O-9.14, O-9.19)."""

import json
import re

import pytest
from concerto.runtime.memory.policy import advice, bound_of, prefix_share

PROGRAM = """\
memory chat: Memory = Memory::new({bound});
model M {{ provider: {provider}, base: "m", system_prompt: "Be kind.", memory: chat }}
fn main() {{ for n in 1..=30 {{ M.execute("question number ${{n + 100}}")?; }} }}
"""


def told(cli, write, bound, provider="openai"):
    write("m.conc", PROGRAM.format(bound=bound, provider=provider))
    return cli("compile", "m.conc", "-o", "m.concb")


NOTE = re.compile(r"note: memory chat: once it is full, .*; `\.window\((\d+), low: (\d+)\)` keeps (\d+) %\n")


def test_a_bound_that_moves_with_every_turn_is_noted(cli, write):
    code, out, err = told(cli, write, "20")
    assert (code, out) == (0, "") and NOTE.fullmatch(err)[1] == "20"
    assert cli("compile", "m.conc", "-o", "m.concb", "-q").err == ""
    assert cli("compile", "m.conc", "-o", "m.concb", "--deny-warnings").code == 0
    assert cli("check", "--deny-warnings", "m.conc") == (0, "", "")


@pytest.mark.parametrize(
    ("bound", "provider"),
    [("", "openai"), ("4", "openai"), (").window(20, low: 10", "openai"), ("20", "offline")],
)
def test_other_programs_are_not(cli, write, bound, provider):
    assert told(cli, write, bound, provider) == (0, "", "")


def test_inspect_shows_the_share_of_each_memory(cli, write):
    for bound, share in (("20", 0), ("", 90), (").window(20, low: 10", 73), (").tokens(1000", 0)):
        told(cli, write, bound)
        shown = json.loads(cli("inspect", "--json", "m.concb").out)["prompt_caches"]["chat"]
        assert shown["same_percent"] == share and ("help" in shown) == (share == 0)


def test_the_share_is_about_what_requests_have_in_common(cli, write):
    """The reckoning against requests as they are sent; these have a system message, and JSON around them."""
    for bound in ("20", "", ").window(20, low: 10"):
        told(cli, write, bound)
        code, out, err = cli("run", "--offline", "--verbose=requests", "m.concb")
        lines = [line for line in err.splitlines() if not line.startswith(" ")]
        assert (code, out, len(lines)) == (0, "", 30) and lines[0].endswith("the first of its model")
        form = re.compile(r"request M-\d+\.1: m on openai, \d+ bytes, (\d+) % as the one before")
        full = [int(form.fullmatch(line)[1]) for line in lines[11:]]
        shown = json.loads(cli("inspect", "--json", "m.concb").out)["prompt_caches"]["chat"]["same_percent"]
        assert abs(sum(full) / len(full) - shown) < 15, (bound, full)


@pytest.mark.parametrize("most", [1, 2, 3, 10, 1000, 10**6, 2**62])
def test_advice_keeps_more_than_nothing(most):
    assert prefix_share(bound_of(most, {})) == 0
    found = advice(most, {})
    assert (found is None) == (most == 1)
    assert advice(None, {}) is None and advice(500, {"window": 40, "window_low": 24}) is None
