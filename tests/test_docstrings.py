"""What a module hands on, as its docstring says: names that it has, and that others take."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import cache

from .test_architecture import MODULES, ROOT

ROOMS = ("api", "batches", "cli", "colours", "compiler", "conformance", "lsp", "notebook", "runtime", "serve", "vm")
NAME = re.compile(r"`([A-Za-z_]\w*)`")
SENTENCE = re.compile(r"(?:^|(?<=[.)] ))Hands\b.*?(?:\.(?= [A-Z`(])|\.?$)")
LIST = re.compile(r"Hands on (?:also )?((?:`\w+`(?:, and |, | and )?)+)")
# Names behind these words are told of, and not handed on: "returns a `Reading`", "the rule of `MethodCall`".
TOLD_OF = re.compile(r"\b(?:a|an|the|its|each|of|or|by) $")
# Words for what is not of the product; a sentence with one of them may name what only that takes.
OTHERS = re.compile(r"\b(?:tests?|tools|drivers?|measurements|benchmarks|reference|documentation|users)\b")
OTHER_FOLDERS = ("tests", "tools", "benches", "conformance")


class Module:
    """What is seen of a module: its `sentences`; the names that it has, and those of its `protocols`, which nobody needs to
    import; by modules what it takes of them; the words of its `strings`, by which code is found that is imported late; and all
    other `words` of its code."""

    def __init__(self, name: str, package: str, text: str) -> None:
        tree = ast.parse(text)
        self.sentences: list[str] = SENTENCE.findall(" ".join((ast.get_docstring(tree) or "").split()))
        self.names = set(names_of(tree.body))
        self.protocols: set[str] = set()
        self.takes: dict[str, set[str]] = {}
        self.strings: set[str] = set()
        self.words = set(name.split("."))
        self._package = package.split(".")
        self._aliases: dict[str, str] = {}
        nodes = list(ast.walk(tree))
        documented = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
        for node in nodes:
            if id(node) not in documented:
                self._look_at(node)
        for node in nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in self._aliases:
                self.takes.setdefault(self._aliases[node.value.id], set()).add(node.attr)

    def _look_at(self, node: ast.AST) -> None:
        match node:
            case ast.ImportFrom():
                base = self._package[: len(self._package) - node.level + 1] if node.level else []
                target = ".".join([*base, *([node.module] if node.module else [])])
                for alias in node.names:
                    self.takes.setdefault(target, set()).add(alias.name)
                    self.words.add(alias.name)
                    self._aliases[alias.asname or alias.name] = f"{target}.{alias.name}"
            case ast.Constant(value=str()):
                self.strings.update(re.findall(r"\w+", str(node.value)))
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self.words.add(node.name)
                if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "Protocol" for base in node.bases):
                    self.protocols.add(node.name)
            case ast.Attribute():
                self.words.add(node.attr)
            case ast.Name():
                self.words.add(node.id)
            case ast.arg():
                self.words.add(node.arg)


def names_of(body: list[ast.stmt]) -> Iterator[str]:
    """The names that stand at the top of a module, in branches and loops there too."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
            continue
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield from (alias.asname or alias.name for alias in node.names)
        for target in (*getattr(node, "targets", ()), getattr(node, "target", None)):
            yield from (part.id for part in ast.walk(target) if isinstance(part, ast.Name)) if target is not None else ()
        for part in ("body", "orelse", "finalbody"):
            yield from names_of(getattr(node, part, []))


@cache
def product() -> dict[str, Module]:
    found = {}
    for name, path in MODULES.items():
        package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        found[name] = Module(name, package, path.read_text(encoding="utf-8"))
    return found


@cache
def words_of_product() -> tuple[Counter[str], set[str]]:
    """In how many modules a word stands in a string; and all words of the code, strings included."""
    counts = Counter(word for module in product().values() for word in module.strings)
    return counts, set(counts).union(*(module.words for module in product().values()))


@cache
def words_of_others() -> set[str]:
    files = [path for folder in OTHER_FOLDERS for path in (ROOT / folder).rglob("*.py") if "node_modules" not in path.parts]
    files.append(ROOT / "pyproject.toml")  # which has entry points
    return {word for path in files for word in re.findall(r"\w+", path.read_text(encoding="utf-8"))}


def faults(name: str, module: Module) -> Iterator[str]:
    """What is wrong in the sentences of a module."""
    taken = {each for other in product().values() if other is not module for each in other.takes.get(name, ())}
    counts, words = words_of_product()
    taken |= {each for each in module.names if counts[each] > (each in module.strings)}
    known = words | module.names
    for sentence in module.sentences:
        others = words_of_others() if OTHERS.search(sentence) else set()
        listed = {each for names in LIST.findall(sentence) for each in NAME.findall(names)}
        handed = {found[1] for found in NAME.finditer(sentence) if not TOLD_OF.search(sentence[: found.start()])}
        yield from (f"{name} has no `{each}`" for each in sorted(listed - module.names))
        yield from (f"{name}: nothing is called `{each}`" for each in sorted({*NAME.findall(sentence)} - known - others))
        left = (handed & module.names) - module.protocols - taken - others
        yield from (f"{name}: nobody takes `{each}`" for each in sorted(left))


def test_what_a_module_hands_on_is_there_and_taken() -> None:
    said = {name: module for name, module in product().items() if module.sentences and name.split(".")[1] in ROOMS}
    assert len(said) > 250
    assert [fault for name, module in said.items() for fault in faults(name, module)] == []


INVENTED = '''\"\"\"An invented module.

Hands on `invented_one`, `Text_1` and `gone_one` to `program`; `invented_two`, which
returns an `invented_three`, to `nobody_at_all`. `Nothing` of this is `looked_at_here`. Hands on to
tests `invented_four`.
\"\"\"
if True:
    def invented_one(): "see invented_two"
for invented_two in (): invented_three = Text_1 = 1
class invented_four: pass
'''


def test_faults_are_found() -> None:
    module = Module("concerto.vm.invented", "concerto.vm", INVENTED)
    assert list(faults("concerto.vm.invented", module)) == [
        "concerto.vm.invented has no `gone_one`",
        "concerto.vm.invented: nothing is called `gone_one`",
        "concerto.vm.invented: nothing is called `nobody_at_all`",
        "concerto.vm.invented: nobody takes `Text_1`",
        "concerto.vm.invented: nobody takes `invented_one`",
        "concerto.vm.invented: nobody takes `invented_two`",
    ]
