"""`concerto batch`: a function of a program over the rows of a file (S-2.1 to S-2.4).

Hands on `configure`, `execute`, `words_of` and `hint_of` to `main`. Flags become the options of a session, as `concerto.batch`
takes them, so that the command and Python do the same; how a batch runs is in `batches/`.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager

from . import exits
from .inputs import find_modules_beside, load_program, pins_of, pins_path, project_folder
from .run import add_flags, environment, hint_of, manifest_file, permissions, scripted_replies, seconds, steps, words_of
from .terminal import Progress, printable_on

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator
    from typing import Any

    from ..api.options import Options
    from ..batches.batch import Batch
    from ..batches.output import Output
    from ..batches.run import Counts
    from ..batches.store import Finished
    from ..runtime.access.permissions import Permissions
    from ..vm.interp.link import Program

__all__ = ["configure", "execute", "hint_of", "words_of"]
CODES = {"rows": exits.NO_INPUT, "columns": exits.USAGE, "configuration": exits.USAGE}  # by the kind of a BatchError
TICK = 0.2  # seconds between two looks at how far the batch is


def configure(parser: argparse.ArgumentParser) -> None:
    """Describe the flags of `batch`."""
    parser.add_argument("file", metavar="FILE", nargs="?", help="a source (.conc) or an image")
    parser.add_argument("--fn", metavar="NAME", required=True, help="the public function to call, once for each row")
    parser.add_argument("--in", metavar="ROWS", dest="rows", required=True, help="a file of rows: .jsonl, .csv or .parquet")
    results = "results as JSON lines (.jsonl), in the order of the rows; failed rows beside it"
    parser.add_argument("--out", metavar="OUT", required=True, help=results)
    parser.add_argument("--limit", metavar="N", type=steps, default=50, help="calls at a time (50)")
    parser.add_argument("--retries", metavar="N", type=count, default=2, help="more calls of a row that fails (2)")
    kept = "what is finished, by which another run goes on (OUT.rows)"
    parser.add_argument("--store", metavar="PATH", help=kept)
    parser.add_argument("--key", metavar="COLUMN", help="the column that names a row; without it what the row holds does")
    ignored = "a column that the function does not take; repeated: all of them"
    parser.add_argument("--ignore", metavar="COLUMN", action="append", default=[], help=ignored)
    parser.add_argument("--only-failed", action="store_true", help="ask the rows again that have failed, and no others")
    parser.add_argument("--on", metavar="ray[=ADDRESS]", type=cluster, help="call the rows on a Ray cluster")
    sent = "send the requests as a batch of the provider, or collect one that is ready"
    parser.add_argument("--provider-batch", action="store_true", help=sent)
    waits = "with --provider-batch: wait for the provider, and look every S seconds"
    parser.add_argument("--wait", metavar="S", type=seconds, help=waits)
    parser.add_argument("--offline", action="store_true", help="answer every model call without network or keys")
    scripted = "replies, for each row from the first one on: a JSON array, or comments `// reply: …`; implies --offline"
    parser.add_argument("--offline-script", metavar="FILE", help=scripted)
    parser.add_argument("--env-file", metavar="FILE", help="NAME=value lines; variables already set win")
    parser.add_argument("--max-steps", type=steps, metavar="N", help="end a row with P101 after N steps")
    parser.add_argument("--max-seconds", type=seconds, metavar="S", help="end a row with P102 after S seconds")
    of_all = "ask no more rows when all runs with this store together have"
    parser.add_argument("--max-tokens", type=steps, metavar="N", help=f"{of_all} used N tokens")
    parser.add_argument("--max-cost", type=seconds, metavar="X", help=f"{of_all} cost X dollars")
    parser.add_argument("--max-model-calls", type=steps, metavar="N", help=f"{of_all} sent N requests")
    tiers = "interp: the interpreter alone; both (the default): what runs often is translated to Python"
    parser.add_argument("--tier", choices=("interp", "both"), default="both", help=tiers)
    parser.add_argument("--seed", type=int, metavar="N", help="fixes the random numbers of each row")
    add_flags(parser)


def count(word: str) -> int:
    """Return the value of --retries, a whole number. Raise ArgumentTypeError for any other word."""
    if not word.isdecimal():
        import argparse

        raise argparse.ArgumentTypeError("expected a whole number")
    return int(word)


def cluster(word: str) -> str:
    """Return the value of --on. Raise ArgumentTypeError for a cluster of another kind, and for no address behind `=`."""
    if word != "ray" and not (word.startswith("ray=") and word != "ray="):
        import argparse

        raise argparse.ArgumentTypeError("expected ray, or ray=ADDRESS")
    return word


def execute(arguments: argparse.Namespace) -> int:
    """Call the function for each row. Return 0 where all rows are done, 1 where rows failed or were left because a budget is
    spent, 75 where a batch of the provider is on its way, 130 and 143 after Ctrl-C and SIGTERM. Raise `Exit`: as `run` for FILE
    and the files of flags, 2 for flags, an output, columns and a configuration that do not fit, a missing key among them, 66 for
    rows that cannot be read, 1 for a store that is refused, a cluster or a provider that fails, and an output that cannot be
    written."""
    if arguments.wait and not arguments.provider_batch:
        raise exits.Exit(exits.USAGE, "--wait is for --provider-batch")
    if arguments.provider_batch and arguments.on:
        raise exits.Exit(exits.USAGE, "--provider-batch sends its rows to the provider, --on to a cluster; choose one of them")
    spending = arguments.max_cost or arguments.max_tokens or arguments.max_model_calls
    if arguments.provider_batch and spending:
        raise exits.Exit(
            exits.USAGE, "--max-cost, --max-tokens and --max-model-calls cannot stop a batch that is with the provider"
        )
    from ..batches.output import Output, require_lines

    try:
        require_lines(arguments.out)
    except ValueError as refused:
        raise exits.Exit(exits.USAGE, f"--out: {refused}") from None
    if arguments.store is None:
        arguments.store = f"{arguments.out}.rows"
    _keep_apart(arguments)
    program = load_program(arguments.file, quiet=arguments.quiet)
    find_modules_beside(arguments.file)
    from ..batches.batch import BatchError

    try:
        batch = _batch(arguments, program)
        output = Output(arguments.out, arguments.key is not None, arguments.store)
        try:
            return _run(arguments, batch, output)
        finally:
            output.discard()
    except BatchError as refused:
        raise exits.Exit(CODES.get(refused.kind, exits.FAILED), str(refused)) from None


def _keep_apart(arguments: argparse.Namespace) -> None:
    """Raise `Exit` (2) for an output, or a file of errors beside it, that would be written over a file that the batch reads, or
    over its store, and for one that stands there and is no file."""
    from ..batches.output import errors_path

    for place in (arguments.out, errors_path(arguments.out)):
        if os.path.exists(place) and not os.path.isfile(place):  # a folder, or a device, which a file would replace
            raise exits.Exit(exits.USAGE, f"--out: {place} is no file; name one")
    used = {"FILE": arguments.file, "--in": arguments.rows, "--store": arguments.store, "--env-file": arguments.env_file}
    used["--offline-script"] = arguments.offline_script
    for flag, path in used.items():
        for place in (arguments.out, errors_path(arguments.out)):
            if path is not None and os.path.realpath(path) == os.path.realpath(place):
                text = f"--out: the results would be written over {path} of {flag}; name another file"
                raise exits.Exit(exits.USAGE, text)


def _batch(arguments: argparse.Namespace, program: Program) -> Batch:
    from ..api.program import Program as Compiled
    from ..batches.batch import Batch

    own = manifest_file(arguments.file, program)
    return Batch(
        Compiled(program, project=project_folder(own)), arguments.fn, arguments.rows, store=arguments.store, key=arguments.key,
        ignore=tuple(arguments.ignore), only_failed=arguments.only_failed, limit=arguments.limit, retries=arguments.retries,
        budget=(arguments.max_tokens, arguments.max_cost, arguments.max_model_calls), on=arguments.on,
        options=_options(arguments, program, own), provider_batch=arguments.provider_batch, wait=arguments.wait,
    )  # fmt: skip


def _options(arguments: argparse.Namespace, program: Program, own: str) -> Options:
    """Return the options of a session that the flags describe. Raise `Exit` as `run` for the files that they name."""
    from ..api.options import Budgets

    offline = arguments.offline or arguments.offline_script is not None or os.environ.get("CONCERTO_OFFLINE") == "1"
    if offline and arguments.provider_batch:
        raise exits.Exit(exits.USAGE, "--provider-batch sends rows to the provider; leave --offline and CONCERTO_OFFLINE out")
    options: Options = {
        "permissions": _granted(permissions(arguments, own)),
        "budgets": Budgets(steps=arguments.max_steps, seconds=arguments.max_seconds),
        "offline": offline,
        "offline_script": scripted_replies(arguments.offline_script),
        "env": None if arguments.env_file is None else dict(environment(arguments.env_file)),
        "seed": arguments.seed,
        "tier": arguments.tier,
    }
    pins = pins_path(arguments.file) if program.image.mcp and pins_of(arguments.file) else None
    if pins is not None:
        options["mcp_pins"] = pins
    return options


def _granted(grants: Permissions) -> Any:
    """Return the permissions of the flags as an option of a session."""
    from ..batches.grants import Granted

    return Granted(grants)


def _run(arguments: argparse.Namespace, batch: Batch, output: Output) -> int:
    """Run the batch, put its output in place, and say how it ended; return the exit code."""
    import asyncio

    ended = asyncio.run(_until_signal(batch, output, Progress(quiet=arguments.quiet)))
    if ended:
        print(f"stopped: {_state(batch)}. Go on with the same command", file=sys.stderr)
        return ended
    with _written(output):
        output.commit()
    counts = batch.counts
    if not arguments.quiet:
        print(printable_on(_summary(counts, output), sys.stdout))
    if batch.ended_by:
        print(f"{counts.left} rows are left: {batch.ended_by}. Go on with the same command and a higher limit", file=sys.stderr)
    elif batch.pending:
        print(f"{batch.pending}. Collect it with the same command", file=sys.stderr)
        return exits.WAITING
    elif counts.left:
        print(f"{counts.left} rows were not asked: they have not failed before", file=sys.stderr)
    return exits.FAILED if counts.failed or batch.ended_by else exits.OK


@contextmanager
def _written(output: Output) -> Iterator[None]:
    """Raise `Exit` (1) with the path of the output where it cannot be written."""
    try:
        yield
    except OSError as error:
        raise exits.Exit(exits.FAILED, f"cannot write {output.path}: {error.strerror or error}") from None


async def _until_signal(batch: Batch, output: Output, progress: Progress) -> int:
    """Run the batch; return 0 at its end, or the code of the signal that ended it: what is finished is in the store by then. A
    second signal, of either kind, ends the process at once."""
    import asyncio
    import signal
    import threading

    def opened() -> None:
        with _written(output):
            output.open()

    def put(rows: list[Finished]) -> None:
        with _written(output):
            output.put(rows)

    loop, task = asyncio.get_running_loop(), asyncio.ensure_future(batch.arun(put, opened))
    received: list[int] = []

    def stop(number: int, frame: object) -> None:
        for each in numbers:
            signal.signal(each, signal.default_int_handler if each == signal.SIGINT else signal.SIG_DFL)
        received.append(number)
        batch.stop()  # calls that compute
        loop.call_soon_threadsafe(task.cancel)

    numbers = (signal.SIGINT, signal.SIGTERM) if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, stop) for number in numbers}
    try:
        while not task.done():
            await asyncio.wait([task], timeout=TICK)
            progress.line("" if task.done() else _state(batch))
        task.result()
        return 0
    except asyncio.CancelledError:
        if not received:
            raise
        return exits.TERMINATED if received[0] == signal.SIGTERM else exits.INTERRUPTED
    finally:
        progress.clear()
        for number, handler in before.items():
            signal.signal(number, handler)


def _state(batch: Batch) -> str:
    """Return how far a batch is, for people."""
    counts = batch.counts
    rate = counts.asked / counts.seconds if counts.seconds else 0.0
    parts = [f"{counts.done} done", f"{counts.failed} failed", f"{rate:.1f} rows/s", f"{counts.tokens} tokens", _cost(counts)]
    left = batch.seconds_left()
    if left is not None:
        parts.append(f"{_time(left)} left")
    return ", ".join(parts)


def _summary(counts: Counts, output: Output) -> str:
    rate = counts.asked / counts.seconds if counts.seconds else 0.0
    kept = f" ({counts.kept} from the store)" if counts.kept else ""
    files = f"{output.path}, {output.errors}" if counts.failed else output.path
    used = f"{counts.tokens} tokens, {_cost(counts)}, {counts.seconds:.1f} s, {rate:.1f} rows/s"
    return f"{counts.read} rows: {counts.done} done, {counts.failed} failed{kept}, {used} -> {files}"


def _cost(counts: Counts) -> str:
    unknown = f" and {counts.unpriced} requests without a price" if counts.unpriced else ""
    return f"cost {counts.cost:.4f}{unknown}"


def _time(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
