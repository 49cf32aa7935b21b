"""What the rows of the benches promise, counted instead of timed: calls of functions, so that a busy machine changes nothing.

The microseconds of each row stand in `benches/`; here stands that a cost does not grow where the clause says so, and that each
clause with a target has a row.
"""

import re
import sys
import threading
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pytest
from concerto.compiler.symbols import EnumSymbol
from concerto.runtime.memory.conversation import Conversation
from concerto.vm.builtins.modules import ARITY, PERFORMED
from concerto.vm.bytecode.encoding import decode, encode
from concerto.vm.bytecode.verify import verify
from concerto.vm.interp.link import load_bytes

import benches.operations
from benches import pairs
from benches.execution import compiled, finished
from benches.figures import Target
from benches.generated_source import source
from benches.operations import memories
from benches.operations.compiling import compile_text

SPEC = Path(__file__).resolve().parents[2] / "docs" / "spec" / "vm.md"
SHORT, LONG = source(250), source(1_000)
LINES = [text.count("\n") for text in (SHORT, LONG)]


def steps(work):
    """Calls that `work` makes, of Python functions and built-in ones, after it has run once."""
    work()
    found = 0

    def count(frame, event, argument):
        nonlocal found
        found += event in ("call", "c_call")

    threading.setprofile(count)  # the checker has a thread of its own
    sys.setprofile(count)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return found


def growth(short, long):
    """Steps a line of the long program over steps a line of the short one."""
    return (steps(long) / LINES[1]) / (steps(short) / LINES[0])


@pytest.fixture(scope="module")
def encoded():
    images = [compiled(text) for text in (SHORT, LONG)]
    for image in images:
        image.source = []
    return [encode(image) for image in images]


def test_compiling_is_linear():
    """V-8.7."""
    assert growth(partial(compile_text, SHORT), partial(compile_text, LONG)) < 1.15


def repeated(form, rest):
    """A source with `form` once for each number."""
    return lambda count: "".join(f"{form.format(n=n)}\n" for n in range(count)) + rest.format(calls="a.area();\n" * count)


STRUCT = "struct S{n} {{ x: Int }}\n"
OFTEN = {
    "calls of methods found at run time": repeated(
        STRUCT + "impl S{n} {{ fn area(self, more: Int = 1) -> Int {{ self.x }} }}", "fn f(a: Any) {{ {calls} }}"
    ),
    "the same by different names": repeated(
        STRUCT + "impl S{n} {{ fn area(self, y{n}: Int = 1, z: Int = 2) -> Int {{ self.x }} }}\n"
        "fn f{n}(a: Any) {{ a.area(y{n}: 1); }}", ""
    ),
    "traits with one method": repeated(
        "trait T{n} {{ fn area(self) -> Int; }}\nimpl T{n} for S {{ fn area(self) -> Int {{ 1 }} }}",
        "struct S {{ x: Int }}\nfn f(a: Any) {{ {calls} }}",
    ),
    "types of one name": repeated("fn f{n}() {{ struct L {{ x: Int }} let l = L {{ x: 1 }}; println(l.x); }}", ""),
    "schemas of one name": repeated("fn f{n}() {{ schema L {{ x: Int }} let l = L {{ x: 1 }}; println(l.x); }}", ""),
    "schemas": repeated("schema S{n} {{ x: Int }}", ""),
    "impls of one trait": repeated(
        STRUCT + "impl T<S{n}> for B {{ fn t(self, x: S{n}) -> Int {{ 1 }} }}\n"
        "fn f{n}(b: B, s: S{n}) -> Int {{ b.t(s) + T::t(b, s) }}",
        "trait T<X> {{ fn t(self, x: X) -> Int; }} struct B {{ x: Int }}",
    ),
    "impls for a generic type": repeated(
        STRUCT + "impl T<S{n}> for B<Int> {{ fn t(self, x: S{n}) -> Int {{ 1 }} }}\n"
        "fn f{n}(b: B<Int>, s: S{n}) -> Int {{ b.t(s) }}", "trait T<X> {{ fn t(self, x: X) -> Int; }} struct B<Y> {{ x: Y }}"
    ),
    "paths to impls": repeated(
        STRUCT + "impl From<S{n}> for E {{ fn from(x: S{n}) -> E {{ E {{}} }} }}\n"
        "fn f{n}(s: S{n}) -> E {{ E::from(s) }}", "struct E {{}}"
    ),
}  # fmt: skip


def test_a_variant_is_found_by_its_name():
    """The look for an entry in a list is no call: names that count how often they are compared stand in for the texts."""
    compared = 0

    class Name(str):
        def __eq__(self, other):
            nonlocal compared
            compared += 1
            return str(self) == other

        __hash__ = str.__hash__

    variants = {Name(f"V{n}"): n for n in range(400)}
    members = [object() for _ in variants]
    enum = EnumSymbol("E", None, None, variants, members)
    assert [enum.member(f"V{n}") for n in range(400)] == members and enum.member("W") is None
    assert compared < 3 * len(members)


@pytest.mark.parametrize("form", OFTEN)
def test_compiling_is_linear_in_what_stands_often(form):
    """V-8.7: four times the source is four times the work."""
    few, many = (steps(partial(compile_text, OFTEN[form](count) + "fn main() {}")) for count in (100, 400))
    assert many < 4.4 * few


def test_an_image_is_smaller_than_its_source(encoded):
    """V-3.7."""
    assert len(encoded[1]) < len(LONG.encode())


def test_loading_is_linear(encoded):
    """V-3.7."""
    assert growth(*(partial(load_bytes, data) for data in encoded)) < 1.15


def test_loading_links_nothing(encoded):
    """V-3.7: a function is linked when it is first called."""
    program = load_bytes(encoded[0])
    assert not any(code.nodes for code in program.codes)
    assert program.link(program.codes[0]) and program.codes[0].nodes


def test_verifying_is_linear(encoded):
    """V-4.3."""
    images = [decode(data) for data in encoded]
    assert growth(*(partial(verify, image, ARITY, performed=PERFORMED) for image in images)) < 1.15


def test_a_request_does_not_cost_what_its_memory_holds():
    """V-8.4."""
    connection = memories.resolve_all([])["openai"]
    settings = memories.call_settings("M", {"base": "gpt-5.4-mini"}, {}, connection)
    services = memories._services(memories.Wire(connection))

    def call(log):
        finished(memories.execute(services, settings, "prompt", Conversation(log, False), run_id="r"))

    few, many = (steps(partial(call, memories._filled(50, count))) for count in (60, 10_000))
    assert many == few


def test_an_append_does_not_cost_what_its_window_holds():
    """V-8.5."""
    few, many = (steps(partial(memories._append, window, 30_000)) for window in memories.WINDOWS)
    assert many <= few * 1.02


def test_each_target_has_a_row():
    """Every clause with a target is measured; but those of the second tier and of snapshots, which are to come."""
    modules = [import_module(f"benches.operations.{found.name}") for found in iter_modules(benches.operations.__path__)]
    targets = [value for module in [*modules, pairs] for value in vars(module).values() if isinstance(value, Target)]
    rows = re.findall(r"^\| (8\.\d+) \|", SPEC.read_text(encoding="utf-8"), re.MULTILINE)
    unmeasured = {"V-3.7", "V-4.3", *(f"V-{row}" for row in rows)} - {target.clause for target in targets}
    assert unmeasured <= {"V-8.1", "V-8.9"}
