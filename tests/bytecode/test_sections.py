"""What each section of an image holds, read from the decoded file (O-10.2, O-10.5 to O-10.19)."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import pytest
from concerto.compiler.manifest import Manifest
from concerto.compiler.pipeline import compile_source
from concerto.vm.bytecode import encoding
from concerto.vm.bytecode import image as i
from concerto.vm.bytecode.encoding import position_at
from concerto.vm.bytecode.image import ImageError
from concerto.vm.bytecode.shape import offers
from concerto.vm.interp.link import load_image

SOURCE = """
struct Point { pub x: Int, y: Int = 2 }
enum Kind { Plain, Pair(Int, String), Named { n: Int } }
schema Reply { text: String, score: Int = 7 }
connect lab { provider: "custom", base_url: "http://box/v1", api_key: env("LAB_KEY"), headers: { "X": "b", "K": env("OTHER") } }
@timeout(seconds: 5)
model M { provider: lab, base: "m-1", temperature: 0.5, max_tokens: tokens(), tools: [T], memory: log }
impl M {
    fn on_tool_call(self, _call: ToolCall) -> ToolCallAction { ToolCallAction::Allow }
    fn twice(self) -> Int { 2 }
}
fn tokens() -> Int { 50 }
tool T {
    description: "a tool",
    calls: Int = 0,
    @describe("a method") @param("q", "a text")
    pub fn run(mut self, q: String = "x") -> String { q }
}
@timeout(seconds: 5)
agent A { connector: a, output_format: "json" }
hashmap h: HashMap<String, Int> = HashMap::new().with_persistence("h.json");
ledger l: Ledger = Ledger::new();
memory log: Memory = Memory::new(20);
pipeline P { @retry(max: 2) stage one(n: Int) -> Int { n + 1 } stage two(n: Int) -> String { "${n}" } }
pub fn f(_p: Point, _n: Int = 3) -> Reply { Reply { text: "t" } }
pub fn k(x: Kind) -> Kind { x }
@test("a test") @expect_fail("part") fn t() { panic("part"); }
fn main() { emit("x", P.run(1)); emit("y", 1.5); }
"""
MANIFEST = """[project]
name = "p"
version = "1"
entry = "main.conc"
[budgets]
steps = 5
[pricing."m-1"]
input_per_million = 1
output_per_million = 2
[pricing."m-2"]
input_per_million = 1
output_per_million = 2
cached = 0.1
[agents.a]
command = "worker --fast"
env = { CHILD = "HOST_VARIABLE" }
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> i.Image:
    folder: Path = tmp_path_factory.mktemp("project")
    (folder / "Concerto.toml").write_text(MANIFEST)
    made = compile_source(SOURCE.encode(), "main.conc", manifest=Manifest(str(folder / "Concerto.toml")))
    assert made.image is not None, made.diagnostics.ordered()
    return encoding.decode(encoding.encode(made.image))


def type_of(image: i.Image, name: str) -> Any:
    return next(entry for entry in image.types if entry[1:2] == [name])


def function(image: i.Image, name: str) -> i.Function:
    return next(made for made in image.functions if made.name == name)


def test_header(image: i.Image) -> None:
    header = image.header
    assert header.format == list(i.FORMAT) and all(type(part) is int for part in header.format) and len(header.format) == 2
    assert (header.name, header.entry) == ("main", image.functions.index(function(image, "main")))
    assert (header.budgets, header.compiler) == ({"steps": 5}, "concerto 0.1")
    assert header.pricing == {"m-1": [1.0, 2.0], "m-2": [1.0, 2.0, 0.1, None]}
    assert "run=worker" in header.wanted and (type(header.opcodes), type(header.std)) == (int, int)


def test_constants(image: i.Image) -> None:
    assert all(type(kind) is int for kind, _ in image.constants)
    assert (i.K_STRING, "x") in [tuple(row) for row in image.constants]
    assert (i.K_FLOAT, 1.5) in [tuple(row) for row in image.constants]


def test_types(image: i.Image) -> None:
    integer, text = image.types.index(["int"]), image.types.index(["string"])
    y = image.functions.index(function(image, "Point.y"))
    assert type_of(image, "Point") == ["struct", "Point", [["x", integer, True], ["y", integer, False, y]]]
    assert type_of(image, "Kind") == ["enum", "Kind", [["Plain", []], ["Pair", [integer, text]], ["Named", [integer], "n"]]]
    assert type_of(image, "Reply")[:2] == ["schema", "Reply"]


def test_functions(image: i.Image) -> None:
    made = function(image, "f")
    default = image.functions.index(function(image, "f._n"))
    assert [(name, image.types[kind][:2], given) for name, kind, given in made.params] == [
        ("_p", ["struct", "Point"], None), ("_n", ["int"], default),
    ]  # fmt: skip
    assert image.types[made.result][:2] == ["schema", "Reply"]
    assert i.Function.__slots__ == (
        "name", "params", "result", "slots", "captures", "cells", "stack", "flags", "code", "handlers", "lines", "hash",
    )  # fmt: skip


def test_connections(image: i.Image) -> None:
    (lab,) = image.connections
    headers = {"X": "b", "K": {"env": "OTHER"}}
    fields = {"provider": "custom", "base_url": "http://box/v1", "api_key_env": "LAB_KEY", "headers": headers}
    assert (lab.name, lab.fields) == ("lab", fields)


def test_models(image: i.Image) -> None:
    (model,) = image.models
    assert (model.name, model.connection, model.fields) == ("M", "lab", {"base": "m-1", "temperature": 0.5})
    assert [(section, image.tools[number].name, scopes) for section, number, scopes in model.tools] == [("tools", "T", [])]
    assert model.memory is not None and image.memories[model.memory].name == "log"
    assert model.decorators == [["timeout", {"seconds": 5.0}]]
    assert {"M.on_tool_call", "M.twice"} <= {made.name for made in image.functions}
    assert model.computed is not None and image.functions[model.computed].name == "M.fields"


def test_tools(image: i.Image) -> None:
    (tool,) = image.tools
    (method,) = tool.methods
    assert (tool.name, tool.description) == ("T", "a tool")
    assert [row[0] for row in image.types[tool.state][2]] == ["calls"]
    assert (method[0], image.functions[method[1]].name, method[2], method[3]) == ("run", "T::run", "T__run", "a tool\n\na method")
    assert method[5] == {
        "type": "object", "properties": {"q": {"type": "string", "description": "a text", "default": "x"}}, "required": [],
        "additionalProperties": False,
    }  # fmt: skip


def test_agents(image: i.Image) -> None:
    (agent,) = image.agents
    process = {"command": "worker --fast", "env": {"CHILD": "HOST_VARIABLE"}}
    assert (agent.name, agent.decorators) == ("A", [["timeout", {"seconds": 5.0}]])
    assert agent.fields == {"connector": "a", "output_format": "json", "process": process}


def test_stores(image: i.Image) -> None:
    (store,), (ledger,) = image.hashmaps, image.ledgers
    assert (store.name, image.types[store.key], image.types[store.value], store.path) == ("h", ["string"], ["int"], "h.json")
    assert ledger.values() == ["l"]


def test_pipelines(image: i.Image) -> None:
    (pipeline,) = image.pipelines
    assert (pipeline.name, image.types[pipeline.input], image.types[pipeline.output]) == ("P", ["int"], ["string"])
    stages = [(s[0], image.types[s[1]], image.types[s[2]], s[3], image.functions[s[4]].name) for s in pipeline.stages]
    assert stages == [("one", ["int"], ["int"], [["retry", {"max": 2}]], "P::one"), ("two", ["int"], ["string"], [], "P::two")]


def test_tests(image: i.Image) -> None:
    (test,) = image.tests
    name = image.functions[test.function].name
    assert (test.description, name, test.expect_fail, test.expected) == ("a test", "t", True, "part")


def test_exports(image: i.Image) -> None:
    assert {name: image.functions[number].name for name, number in image.exports.functions.items()} == {"f": "f", "k": "k"}
    assert [image.functions[number].name for number in image.exports.init] == ["init"]


def test_source_map(image: i.Image) -> None:
    assert image.source_map == [["main.conc", hashlib.sha256(SOURCE.encode()).digest()]]
    assert image.source == [SOURCE]


NAMED = """fn f(at: Int) -> Int {
    let late: Int;
    let [a, b] = [at, 1];
    if at > 3 { let inner = a; late = inner; } else { late = b; }
    let g = |k: Int| k + late;
    match Some(at) { Some(x) if x > 5 => g(x), Some(y) => y, None => 0 }
}
"""


def test_names_of_locals() -> None:
    """Each variable has its place from where it has a value on all paths to the end of its scope; two never share a place at
    once (V-3.9)."""
    image = compile_source(NAMED.encode(), "main.conc").image
    assert image is not None and len(image.names) == len(image.functions)
    numbers = {function.name: number for number, function in enumerate(image.functions)}
    function, rows = image.functions[numbers["f"]], image.names[numbers["f"]]
    assert {row[0] for row in rows} == {"at", "late", "a", "b", "inner", "g", "x", "y"}
    found = {name: (place, position_at(function.lines, start), end) for name, place, start, end in rows}
    assert found["at"][1:] == ((0, 1, 4), len(function.code))
    assert (found["a"][1][1], found["b"][1][1], found["inner"][1][1]) == (4, 4, 4)  # a and b when both are there
    assert found["late"][0] >= function.slots  # it is captured: a cell
    assert found["late"][1][1:] == (5, 13)  # behind the branches, each of which assigns it
    ends = {name: end for name, (_, _, end) in found.items()}
    assert ends["inner"] < ends["x"] < ends["y"] < ends["at"] == ends["g"]
    assert [row[0] for row in image.names[numbers["closure"]]] == ["late", "k"]


def test_names_are_no_part_of_what_a_function_does() -> None:
    one, other = (compile_source(NAMED.replace("inner", name).encode(), "main.conc").image for name in ("inner", "other"))
    assert one is not None and other is not None and one.names != other.names
    assert [f.hash for f in one.functions] == [f.hash for f in other.functions]
    one.strip()
    assert (one.names, one.source) == ([], [])
    assert encoding.decode(encoding.encode(one)).names == []


TRAITS = """
trait Area { fn area(self) -> Int; fn twice(self) -> Int { self.area() * 2 } }
struct Square { side: Int }
struct Pair<T> { one: T }
enum Round { Circle(Int) }
impl Area for Square { fn area(self) -> Int { self.side } }
impl Area for Pair<Int> { fn area(self) -> Int { self.one } }
impl Area for Round { fn area(self) -> Int { 3 } }
model M { provider: offline }
impl Area for M { fn area(self) -> Int { 4 } }
struct Own { n: Int }
impl Error for Own {}
fn of(x: Area) -> Int { x.area() + x.twice() }
fn main() -> Result<Nil, Error> { emit("x", of(Square { side: 1 })); emit("y", of(M)); throw Own { n: 1 } }
"""


def test_a_trait_tells_its_types_and_their_methods() -> None:
    """`["trait", name, [[type, [function…]]…]]`, a model as `["handle", "M."]`, `["errors", [type…]]` (V-3.8)."""
    made = compile_source(TRAITS.encode(), "main.conc")
    assert made.image is not None, made.diagnostics.ordered()
    image = encoding.decode(encoding.encode(made.image))
    trait = type_of(image, "Area")
    told = {
        image.types[kind][1]: [image.functions[number].name.rpartition("::")[2] for number in numbers]
        for kind, numbers in trait[2]
    }
    assert trait[0] == "trait" and told == {name: ["area", "twice"] for name in ("Square", "Pair", "Round", "M.")}
    assert ["handle", "M."] in image.types
    (errors,) = [entry for entry in image.types if entry[0] == "errors"]
    assert [image.types[kind][1] for kind in errors[1]] == ["Own"]


QUESTIONS = """
model M { provider: openai, base: "m-1" }
channel a: Int -> Bool;
channel b: Int;
fn c(text: String) -> Result<String> by M { text }
fn main() { }
"""


def test_channels_and_functions_by_models_are_listed() -> None:
    """`["channels", [function…]]`, `["by_model", [function…]]`, absent without one; of functions that are there, a channel of
    one parameter (V-3.10)."""
    compiled = compile_source(QUESTIONS.encode(), "main.conc").image
    assert compiled is not None
    image = encoding.decode(encoding.encode(compiled))
    rows = [entry for entry in image.types if entry[0] in ("channels", "by_model")]
    listed = {kind: [image.functions[number].name for number in numbers] for kind, numbers in rows}
    assert listed == {"channels": ["a", "b"], "by_model": ["c"]}
    plain = compile_source(b"fn main() { }", "main.conc").image
    assert plain is not None and all(entry[0] not in ("channels", "by_model") for entry in plain.types)
    of_main = next(number for number, function in enumerate(compiled.functions) if function.name == "main")
    for numbers, code in (([99], "V106"), ([of_main], "V105")):
        entry = next(entry for entry in compiled.types if entry[0] == "channels")
        entry[1][:] = numbers
        with pytest.raises(ImageError, match=code):
            load_image(compiled)


def test_what_a_program_offers_is_described() -> None:
    """`["offers", [[function, text]…], [[model, text]…]]`, absent without any; of public functions and models that are there
    (V-3.11)."""
    source = b"/// Adds.\npub fn add() -> Int { 1 }\npub fn plain() -> Int { 1 }\n/// Hidden.\nfn own() -> Int { 1 }\n"
    source += b"pub model A { provider: offline }\nmodel B { provider: offline }\n/// Asked.\npub model C { provider: offline }\n"
    compiled = compile_source(source, "main.conc").image
    assert compiled is not None
    image = encoding.decode(encoding.encode(compiled))
    functions, models = offers(image)
    assert {image.functions[number].name: doc for number, doc in functions.items()} == {"add": "Adds."}
    assert {image.models[number].name: doc for number, doc in models.items()} == {"A": "", "C": "Asked."}
    plain = compile_source(b"pub fn f() -> Int { 1 }", "main.conc").image
    assert plain is not None and all(entry[0] != "offers" for entry in plain.types)
    of_own = next(number for number, function in enumerate(compiled.functions) if function.name == "own")
    entry = next(entry for entry in compiled.types if entry[0] == "offers")
    for wrong in (["offers", [[of_own, "x"]], []], ["offers", [], [[99, "x"]]]):
        entry[:] = wrong
        with pytest.raises(ImageError, match="V106"):
            load_image(compiled)
