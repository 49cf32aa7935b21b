"""Who may import whom (V-1.6): the table, which counts imports for types too, and the absence of cycles."""

from __future__ import annotations

import ast
import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("api", "batches", "cli", "colours", "compiler", "conformance", "lsp", "notebook", "serve", "vm", "runtime")
FACE = ("__init__", "__main__", "importer")  # the root is the package

# Of the suite only the runner is a room: its drivers and its second evaluator speak to implementations.
RUNNER_ONLY = ROOT / "conformance"
DRIVER = (("conformance", "drivers", "concerto"), ("conformance", "drivers", "asking"))

# A room may import itself and what stands here; a longer entry narrows it to a part of that room.
ALLOWED = {
    "vm": (),
    "compiler": (
        "vm.bytecode", "vm.builtins", "vm.declaration_fields", "vm.providers", "vm.memory_steps", "vm.values", "vm.schema",
        "vm.panics", "vm.record",
    ),
    "runtime": ("vm",),
    "conformance": (),
    "colours": ("compiler",),
    "lsp": ("colours", "compiler", "vm.builtins", "vm.memory_steps"),
    "api": ("compiler", "runtime", "vm"),
    "batches": ("api", "runtime", "vm"),
    "serve": ("api",),
    "cli": ("", "api", "batches", "compiler", "conformance", "lsp", "runtime", "serve", "vm"),  # of the face, the version
    "notebook": ("cli", "compiler", "runtime", "vm"),
    "": ("api", "batches", "cli", "serve"),
}
# Distributions a room may import besides the standard library.
LIBRARIES = {
    "vm": {"msgpack"},
    "compiler": {"ply"},
    "runtime": {
        "openai", "anthropic", "httpx2", "psycopg", "redis", "mcp", "mcp_types", "anyio", "genai_prices", "psutil", "boto3",
        "botocore", "google", "pypdf", "acp", "pydantic", "cryptography", "opentelemetry",
    },
    "conformance": {"conformance"},  # its scripts, by the name it has in the repository
    "colours": {"pygments"},
    "lsp": {"pygls", "lsprotocol"},
    "batches": {"pyarrow", "ray"},
    "serve": {"starlette", "uvicorn", "h11", "prometheus_client", "mcp", "mcp_types", "anyio"},
    "cli": {"msgpack"},
    "notebook": {"IPython"},  # whoever has a notebook has it
    "api": {"pytest", "pydantic"},  # whoever tests or makes models with them has them
    "": set(),
}
# Of the standard library of some of the Pythons we run on.
OTHER_VERSIONS = {"_sha256", "_sha2"}


def modules() -> dict[str, Path]:
    found = {f"concerto.{name}".removesuffix(".__init__"): ROOT / f"{name}.py" for name in FACE}
    for folder in ROOMS:
        pattern = "*.py" if ROOT / folder == RUNNER_ONLY else "**/*.py"
        for path in sorted((ROOT / folder).glob(pattern)):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join(("concerto", folder, *parts)).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def for_types(tree: ast.Module) -> set[ast.AST]:
    """What stands under `if TYPE_CHECKING:`, which no run imports."""
    blocks = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    return {inner for block in blocks for statement in block.body for inner in ast.walk(statement)}


def imports(name: str, path: Path, *, run_time: bool = False) -> set[str]:
    """Absolute names of everything a module imports, wherever the statement stands; `run_time`: without those for types."""
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    left_out = for_types(tree) if run_time else set()
    for node in ast.walk(tree):
        if node in left_out:
            continue
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            target = ".".join([*base, *([node.module] if node.module else [])])
            # `from . import x` names a module, `from .y import x` mostly a value of y
            found.update(f"{target}.{a.name}" if f"{target}.{a.name}" in MODULES else target for a in node.names)
    return found


IMPORTS = {name: imports(name, path) for name, path in MODULES.items()}


def room_of(module: str) -> str:
    parts = module.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in ROOMS else ""


@pytest.mark.parametrize("name", sorted(MODULES))
def test_arrows_point_down(name: str) -> None:
    room = room_of(name)
    for target in sorted(IMPORTS[name]):
        if target.split(".")[0] == "concerto":
            other = room_of(target)
            inside = ".".join(target.split(".")[1:])
            narrow = any(f"{inside}.".startswith(f"{allowed}.") for allowed in ALLOWED[room])
            fits = other == room or other in ALLOWED[room] or narrow
            assert fits, f"{name} imports {target}: {room}/ may import {', '.join(ALLOWED[room]) or 'no other room'}"
        else:
            top = target.split(".")[0]
            known = top in sys.stdlib_module_names | OTHER_VERSIONS | LIBRARIES[room]
            assert known, f"{name} imports {top}, which {room}/ may not"


def test_no_import_cycles() -> None:
    """At run time, function-local imports included; for types, modules of one folder may name each other."""
    run_time = {name: imports(name, path, run_time=True) for name, path in MODULES.items()}
    edges = {name: {t for t in targets if t in MODULES and t != name} for name, targets in run_time.items()}
    # a package's __init__ re-exports its modules; modules naming siblings do not import the package itself
    state: dict[str, int] = {}
    stack: list[str] = []

    def visit(name: str) -> None:
        state[name] = 1
        stack.append(name)
        for target in sorted(edges[name]):
            if state.get(target) == 1:
                cycle = [*stack[stack.index(target) :], target]
                raise AssertionError("import cycle: " + " -> ".join(cycle))
            if target not in state:
                visit(target)
        stack.pop()
        state[name] = 2

    for name in sorted(edges):
        if name not in state:
            visit(name)


# Within a room arrows point down too: what stands here first knows nothing of what stands behind it. A folder is all of its
# files that have no place of their own; imports for types are free within a room.
LAYERS = {
    "vm": (
        "record",
        "panics", "values", "schema", "memory_steps", "providers", "declaration_fields", "bytecode", "regex", "interp/effects",
        "interp/tasks", "builtins", "interp", "generated", "interp/template", "interp/link", "interp/weight", "interp/machine",
        "jit",
        "jit/library", "jit/kinds", "jit/analysis", "jit/inlining", "jit/literals",
        "jit/flow", "jit/text", "jit/payloads", "jit/liveness", "jit/lending", "jit/facts",
        "jit/emitter", "jit/arithmetic", "jit/values", "jit/places", "jit/intrinsics", "jit/calls", "jit/branches", "jit/loops",
        "jit/control", "jit/functions", "jit/tier", "snapshot",
    ),
    "compiler": (
        "collector", "source", "diagnostics", "types", "operators", "generated", "syntax", "syntax/lr_machine",
        "syntax/error_place", "hints", "syntax/errors", "syntax/parse", "symbols", "declaration_kinds", "decisions", "fields",
        "manifest_file", "manifest", "libraries", "project", "installed", "resolver", "incremental", "checker", "codegen",
        "format", "pipeline", "roots", "repl",
    ),
    "runtime": (
        "errors", "trust", "access", "loop", "effects/runner", "records", "connections", "breaker", "media", "prompt_cache",
        "running", "python_calls", "host", "schema", "telemetry", "memory/terms", "memory/failures", "memory/keys",
        "memory/entries", "memory/facts", "memory/fact_index", "memory/retention",
        "memory/stores", "memory", "search", "providers", "calls", "search/session_indexes",
        "agents", "tools/states", "tools/tools", "mcp", "tools", "effects", "journal", "session",
    ),
}  # fmt: skip


def layer(room: str, module: str) -> int:
    """Where a module stands in the list of its room: by the longest entry that names it or a folder around it."""
    inside = module.split(".", 2)[2].replace(".", "/") if module.count(".") > 1 else ""
    fitting = [entry for entry in LAYERS[room] if f"{inside}/".startswith(f"{entry}/")]
    assert fitting or not inside, f"{module} has no place in LAYERS"
    return LAYERS[room].index(max(fitting, key=len)) if fitting else -1


@pytest.mark.parametrize("name", sorted(name for name in MODULES if LAYERS.get(room_of(name))))
def test_arrows_point_down_within_a_room(name: str) -> None:
    room = room_of(name)
    for target in sorted(imports(name, MODULES[name], run_time=True)):
        if target in MODULES and room_of(target) == room:
            assert layer(room, target) <= layer(room, name), f"{name} imports {target}, which stands above it in LAYERS"


# What reads clocks, files, networks, processes, chance or threads: the machine hands effects to its host instead (V-1.8).
OUTSIDE = {
    "asyncio", "asyncore", "datetime", "fcntl", "getpass", "glob", "http", "io", "locale", "logging", "mmap", "multiprocessing",
    "os", "pathlib", "random", "secrets", "select", "selectors", "shutil", "signal", "socket", "sqlite3", "ssl", "subprocess",
    "tempfile", "threading", "time", "urllib", "uuid",
}  # fmt: skip
# Encoders that construct host objects (G-3.7).
CONSTRUCTING = {"copyreg", "dill", "jsonpickle", "marshal", "pickle", "shelve", "yaml"}


@pytest.mark.parametrize("name", sorted(name for name in MODULES if room_of(name) == "vm"))
def test_the_machine_touches_nothing_outside(name: str) -> None:
    outside = {target for target in IMPORTS[name] if not target.startswith("urllib.parse")}  # which only reads texts
    allowed = {"time"} if name == "concerto.vm" else set()  # when its code began to be read; no run looks there
    assert not {target.split(".")[0] for target in outside} & OUTSIDE - allowed
    assert not called(MODULES[name]) & {"open", "input", "breakpoint", "__import__"}


@pytest.mark.parametrize("name", sorted(MODULES))
def test_no_encoder_constructs_host_objects(name: str) -> None:
    allowed = {"marshal"} if name == "concerto.runtime.session.code_files" else set()  # code objects, by its rule
    assert not {target.split(".")[0] for target in IMPORTS[name]} & CONSTRUCTING - allowed
    # Constructors of classes: text made of numbers, see tests/vm/test_no_python_text.py.
    made = {"concerto.vm.values.objects", "concerto.vm.record"}
    assert name in made or not called(MODULES[name]) & {"eval", "exec", "__import__"}


def called(path: Path) -> set[str]:
    """Plain names that a module calls."""
    calls = (node.func for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
    return {function.id for function in calls if isinstance(function, ast.Name)}


@pytest.mark.parametrize("path", sorted((ROOT / "conformance").rglob("*.py")), ids=lambda path: path.name)
def test_the_suite_and_the_product_meet_at_the_driver_only(path: Path) -> None:
    """C-1.2. The oracle shares the tree; its own test says which names (C-12.1)."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    if parts not in DRIVER and parts[1] != "oracle":
        name = ".".join(["concerto", *parts]).removesuffix(".__init__")  # relative imports that lead out of it count
        product = [target.split(".") for target in imports(name, path) if target.split(".")[0] == "concerto"]
        assert not [target for target in product if target[1:2] != ["conformance"]]


@pytest.mark.parametrize("room", ["benches", "conformance"])
def test_no_room_knows_suite_or_benches(room: str) -> None:
    """But the verb that runs the suite; the suite itself is a room of the wheel too."""
    others = {name: targets for name, targets in IMPORTS.items() if not name.startswith("concerto.conformance")}
    knowing = {name for name, targets in others.items() if any(room in target.split(".")[:2] for target in targets)}
    assert knowing == ({"concerto.cli.conformance"} if room == "conformance" else set())


def test_no_vague_module_names() -> None:
    vague = {"utils", "util", "helpers", "helper", "common", "misc"}
    assert not [name for name in MODULES if name.rpartition(".")[2] in vague]


# Each costs a measurable part of the whole start, or comes with a feature that this program does not use.
FORBIDDEN_AT_START = (
    *sorted(set().union(*LIBRARIES.values()) - {"msgpack"}), "httpx", "pydantic", "rich", "argparse", "ast", "asyncio",
    "bz2", "concurrent", "copy", "dataclasses", "email", "gettext", "hashlib", "http", "importlib.metadata", "inspect", "locale",
    "logging", "lzma", "pathlib", "random", "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "threading",
    "tokenize", "typing", "urllib", "weakref",
    "concerto.api", "concerto.compiler", "concerto.lsp", "concerto.runtime.access.files", "concerto.runtime.agents",
    "concerto.runtime.session.code_files", "concerto.runtime.mcp", "concerto.runtime.memory.fact_index",
    "concerto.runtime.memory.terms", "concerto.runtime.telemetry", "concerto.vm.jit",
)  # fmt: skip


WHEN_WARM = ("concerto.runtime.session.code_files", "concerto.vm.jit")  # what runs often is worth these


@pytest.mark.parametrize(("source", "needed"), [("examples/conversation.conc", ()), ("benches/programs/sieve.conc", WHEN_WARM)])
def test_what_an_image_run_does_not_import(source: str, needed: tuple[str, ...], tmp_path: Path) -> None:
    """`concerto run x.concb --offline` needs neither the compiler nor an SDK nor an event loop (V-8.6)."""
    image = tmp_path / "x.concb"
    concerto = [sys.executable, "-m", "concerto"]
    subprocess.run([*concerto, "compile", str(ROOT / source), "-o", str(image)], check=True)
    program = (
        "import sys\nfrom concerto.cli.main import main\n"
        f"code = main(['run', {str(image)!r}, '--offline', '--quiet'])\n"
        f"print(code, sorted(m for m in {FORBIDDEN_AT_START!r} if m in sys.modules))\n"
    )
    done = subprocess.run([sys.executable, "-S", "-c", program], capture_output=True, text=True, env=site_free_environment())
    assert done.stdout.strip() == f"0 {sorted(needed)}", done.stdout + done.stderr


def site_free_environment() -> dict[str, str]:
    """-S leaves the editable finder out (it imports much itself), so the packages are found through the type checker's tree."""
    import msgpack

    site = str(Path(msgpack.__file__).resolve().parent.parent)
    return {"PYTHONPATH": f"{ROOT / '.types'}:{site}", "XDG_CACHE_HOME": os.environ["XDG_CACHE_HOME"]}


def taken_from_values(path: Path) -> set[str]:
    """The names that a file takes from the face of `vm/values/`: by an import, or as an attribute of the folder."""
    taken: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[-1] == "values":
            taken.update(alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) in ("v", "vm", "values"):
            taken.add(node.attr)
    return taken


def test_the_face_of_values_has_what_is_taken_from_it() -> None:
    """Classes of values apart: `test_states.py` looks at all of them."""
    face = importlib.import_module("concerto.vm.values")
    outside = [path for name, path in MODULES.items() if name != "concerto.vm.values"]
    tests = Path(__file__).parent.glob("**/*.py")
    taken = set().union(*map(taken_from_values, (*outside, *tests)))
    assert {name for name in face.__all__ if name not in taken and not hasattr(getattr(face, name), "type_name")} == set()
