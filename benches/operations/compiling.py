"""V-8.7: compile speed from source text to encoded image, and that it does not fall with the length of the program; and a check
after an edit, as an editor asks for it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from itertools import count
from pathlib import Path

from concerto.compiler.incremental import CheckCache
from concerto.compiler.pipeline import Compilation, check_source, compile_source
from concerto.compiler.project import locate
from concerto.vm.bytecode.encoding import encode

from ..execution import Failed, compiled, require
from ..figures import Figure, Target
from ..generated_source import source
from ..reference import per_round, rounds
from ..sampling import Plan, interleave, ratio

SPEED = Target("V-8.7", 8_000, least=True)
LINEAR = Target("V-8.7", 1.5)
LONG = 500_000  # rounds that take about as long
EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "large" / "main.conc"


def compile_speed(plan: Plan) -> list[Figure]:
    short, long = (source(n) for n in ((500, 2_500) if plan.quick else (2_500, 25_000)))
    require(compile_text(short), compile_text(short))
    works = [partial(compile_text, text) for text in (short, long)]
    one, many, known = interleave([*works, partial(rounds, LONG)], replace(plan, samples=min(plan.samples, 3)))
    lines = [text.count("\n") for text in (short, long)]
    per_line = (many.median / lines[1]) / (one.median / lines[0])
    return [
        Figure(
            "compile", lines[1] / many.median, "lines/s", SPEED, ratio=one.median / lines[0] / per_round(known, LONG),
            spread=many.spread, note=f"{lines[1]:,} lines, tables warm; ratio: rounds a line, of {lines[0]:,}",
        ),  # fmt: skip
        Figure("compile_linear", per_line, "×", LINEAR, note=f"time a line, {lines[1]:,} lines over {lines[0]:,}"),
    ]


def compile_text(text: str) -> bytes:
    return encode(compiled(text))


def compile_example(plan: Plan) -> list[Figure]:
    """The program of several files that people wrote, not a generator: its text and its comments are as dense as theirs are."""
    first = compile_project(EXAMPLE)
    lines = sum(source.text.count("\n") for source in first.sources.values())
    require(encoded(compile_project(EXAMPLE)), encoded(first))
    samples, known = interleave([lambda: encoded(compile_project(EXAMPLE)), partial(rounds, LONG)], plan)
    note = f"examples/large, {lines:,} lines in {len(first.sources)} files; ratio: rounds a line"
    each = samples.median / lines
    in_rounds = each / per_round(known, LONG)
    return [Figure("compile_example", 1 / each, "lines/s", SPEED, ratio=in_rounds, spread=samples.spread, note=note)]


def compile_project(path: Path) -> Compilation:
    location = locate(str(path))
    return compile_source(path.read_bytes(), location.file, read=location.read)


def encoded(result: Compilation) -> bytes:
    if result.image is None:
        raise Failed("\n".join(f"{found.span.file}: {found.code} {found.message}" for found in result.diagnostics.ordered()))
    return encode(result.image)


MODULES = 30


def check_after_an_edit(plan: Plan) -> list[Figure]:
    """A program of 30 modules, each of which calls the one before: a check after an edit of one body, with the cache that has the
    checks before it, beside a whole check."""
    text = source(40 if plan.quick else 200).partition("fn main")[0]
    files = {f"m{n}.conc": f"{text}\npub fn step(x: Int) -> Int {{ m{max(n - 1, 0)}::step(x) + {n} }}\n" for n in range(MODULES)}
    files["main.conc"] = "".join(f"mod m{n};\n" for n in range(MODULES)) + f"fn main() {{ m{MODULES - 1}::step(1); }}\n"
    edited = f"m{MODULES // 2}.conc"
    cache, numbers = CheckCache(), count(1000)

    def check(known: CheckCache | None) -> Compilation:
        now = {**files, edited: files[edited].replace("step(x) +", f"step(x) + {next(numbers)} +")}
        texts = {name: text.encode() for name, text in now.items()}
        return check_source(texts["main.conc"], "main.conc", texts.get, None, known)

    require([check(known).diagnostics.found for known in (cache, cache, None)], [[], [], []])
    after, whole = interleave([lambda: check(cache), lambda: check(None)], plan)
    lines = sum(text.count("\n") for text in files.values())
    note = f"{lines:,} lines in {MODULES} modules; ratio: to {1000 * whole.median:.0f} ms of a whole check"
    return [Figure("check_edit", 1000 * after.median, "ms", ratio=ratio(after, whole), spread=after.spread, note=note)]
