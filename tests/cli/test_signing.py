"""`keygen`, `sign`, `verify`, and what `run` demands (O-9.71 to O-9.74, G-1.2, G-3.6)."""

import contextlib
import io
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
from base64 import b64decode
from pathlib import Path

import pytest
from concerto.cli import inputs, run
from concerto.cli import sign as signing
from concerto.runtime.errors import install_advice
from concerto.runtime.trust.minisign import new_key, read_secret_key, sign, written_public_key
from concerto.vm.bytecode.encoding import content_hash

from ..trust.test_minisign import MADE, PASSWORD

ROOT = Path(__file__).resolve().parents[2]
SOURCE = 'fn main() { println("hello"); }'


@pytest.fixture
def image(cli, write):
    """x.concb, and the pair of keys k; nothing is signed."""
    write("x.conc", SOURCE)
    assert cli("compile", "x.conc")[0] == 0 and cli("keygen", "-q", "k") == (0, "", "")
    return "x.concb"


@pytest.fixture
def signed(cli, image):
    assert cli("sign", image, "--key", "k.key") == (0, "wrote x.concb.minisig\n", "")
    return image


def rejected(file, why):
    return 74, "", f"{file}: image rejected: V005: {why}\n"


# ---------------------------------------------------------------- keygen


def test_a_pair_of_keys(cli, tmp_path):
    code, out, err = cli("keygen", "k")
    text = (tmp_path / "k.pub").read_text().splitlines()[1]
    assert (code, err) == (0, "") and out.splitlines() == [
        "wrote k.key, the secret key: who has it signs in your name; no password protects it",
        f"wrote k.pub, the public key: {text}",
    ]
    key = read_secret_key((tmp_path / "k.key").read_bytes(), str)
    assert written_public_key(key.public) == (tmp_path / "k.pub").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["k.key", "k.pub"]


def test_only_its_owner_may_read_a_secret_key(cli, tmp_path):
    before = os.umask(0)
    try:
        assert cli("keygen", "k")[0] == 0
        os.chmod(tmp_path / "k.key", 0o666)
        assert cli("keygen", "k", "--force")[0] == 0
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "k.key").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "k.pub").stat().st_mode) == 0o644


def test_it_is_never_readable_for_others_on_the_way(cli, tmp_path, monkeypatch):
    modes = []
    fdopen = os.fdopen

    def opened(descriptor, *words):
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return fdopen(descriptor, *words)

    monkeypatch.setattr(os, "fdopen", opened)
    before = os.umask(0)
    try:
        assert cli("keygen", "k")[0] == 0 and cli("keygen", "k", "--force")[0] == 0
    finally:
        os.umask(before)
    assert modes == [0o600, 0o644] * 2


@pytest.mark.parametrize("there", [["k.key"], ["k.pub"], ["k.key", "k.pub"]], ids=" ".join)
def test_keys_are_not_overwritten_without_being_asked(cli, write, tmp_path, there):
    for name in there:
        write(name, "old")
    told = f"{' and '.join(there)} would be overwritten, and a lost key does not come back; --force does it\n"
    assert cli("keygen", "k") == (1, "", told)
    assert sorted(os.listdir(tmp_path)) == there and {(tmp_path / name).read_text() for name in there} == {"old"}
    assert cli("keygen", "k", "--force")[0] == 0
    assert sorted(os.listdir(tmp_path)) == ["k.key", "k.pub"]
    assert read_secret_key((tmp_path / "k.key").read_bytes(), str)


@pytest.mark.parametrize("public", ["old", None])
def test_keys_that_cannot_both_be_replaced_stay(cli, write, tmp_path, public):
    (tmp_path / "k.key").mkdir()
    if public is not None:
        write("k.pub", public)
    code, out, err = cli("keygen", "k", "--force")
    assert (code, out) == (1, "") and err.startswith("cannot write k.key")
    assert sorted(os.listdir(tmp_path)) == ["k.key", *(["k.pub"] if public else [])]
    assert public is None or (tmp_path / "k.pub").read_text() == public


def test_links_are_not_followed(cli, write, tmp_path):
    write("elsewhere", "old")
    for target in ("elsewhere", "nowhere"):
        (tmp_path / "k.key").symlink_to(target)
        assert cli("keygen", "k")[0] == 1
        assert cli("keygen", "k", "--force")[0] == 0
        assert (tmp_path / "elsewhere").read_text() == "old" and not (tmp_path / "k.key").is_symlink()
        (tmp_path / "k.key").unlink(), (tmp_path / "k.pub").unlink()


def test_a_file_that_comes_meanwhile_is_kept(cli, tmp_path, monkeypatch):
    """Between the look and the writing."""
    from concerto.cli import keygen

    def made():
        (tmp_path / "k.pub").write_text("new")
        return new_key()

    monkeypatch.setattr(keygen, "new_key", made)
    assert cli("keygen", "k") == (1, "", "k.pub would be overwritten, and a lost key does not come back; --force does it\n")
    assert os.listdir(tmp_path) == ["k.pub"] and (tmp_path / "k.pub").read_text() == "new"


@pytest.mark.parametrize("flags", [[], ["--force"]])
def test_what_cannot_be_written_leaves_nothing(cli, tmp_path, flags):
    code, out, err = cli("keygen", "nowhere/k", *flags)
    assert (code, out) == (1, "") and err.startswith("cannot write nowhere/k.key")
    assert err.endswith(": No such file or directory\n")
    (tmp_path / "k.pub").mkdir()
    told = "cannot write k.pub: it is a folder\n" if flags else "k.pub would be overwritten, and a lost key does not come back; "
    code, out, err = cli("keygen", "k", *flags)
    assert (code, out) == (1, "") and err.startswith(told) and os.listdir(tmp_path) == ["k.pub"]


# ---------------------------------------------------------------- sign and verify


def test_an_image_is_signed_and_verified(cli, signed, tmp_path):
    key = read_secret_key((tmp_path / "k.key").read_bytes(), str)
    text = (tmp_path / "k.pub").read_text().splitlines()[1]
    for word in ("k.pub", text):
        code, out, err = cli("verify", signed, "--key", word)
        first, second = out.splitlines()
        assert (code, err, first) == (0, "", f"x.concb: signed by the key {key.public}")
        assert second.startswith("trusted comment: timestamp:") and second.endswith("  file:x.concb  hashed")
    assert cli("verify", "-q", signed, "--key", "k.pub") == (0, "", "")
    written = (tmp_path / "x.concb.minisig").read_text().splitlines()
    assert written[0] == f"untrusted comment: signature by the key {key.public}" and b64decode(written[1])[:2] == b"ED"


def test_the_trusted_comment_is_signed(cli, image, tmp_path):
    assert cli("sign", "-q", image, "--key", "k.key", "--comment", "Version 1, größer") == (0, "", "")
    assert cli("verify", image, "--key", "k.pub")[1].splitlines()[1] == "trusted comment: Version 1, größer"
    beside = tmp_path / "x.concb.minisig"
    beside.write_text(beside.read_text().replace("Version 1", "Version 2"))
    told = rejected(image, "no trusted signature: its trusted comment is not the one that was signed")
    assert cli("verify", image, "--key", "k.pub") == told


def test_a_new_signature_takes_the_place_of_an_older_one(cli, signed, write):
    write("x.conc", SOURCE.replace("hello", "goodbye"))
    assert cli("compile", "x.conc")[0] == 0
    assert cli("verify", signed, "--key", "k.pub")[0] == 74
    assert cli("sign", signed, "--key", "k.key")[0] == 0 and cli("verify", signed, "--key", "k.pub")[0] == 0


def test_what_whoever_signed_has_written_does_not_reach_the_terminal(cli, image, tmp_path, monkeypatch):
    from concerto.runtime.trust import minisign

    key = read_secret_key((tmp_path / "k.key").read_bytes(), str)
    monkeypatch.setattr(minisign, "_checked", lambda comment: comment.encode())
    (tmp_path / "x.concb.minisig").write_bytes(sign(key, (tmp_path / image).read_bytes(), "\x1b[2J\x9b1A\u202e"))
    assert cli("verify", image, "--key", "k.pub")[1].splitlines()[1] == "trusted comment: \\u{1b}[2J\\u{9b}1A\\u{202e}"


@pytest.mark.parametrize("comment", ["a\nb", "\x1b[2J", "x" * 2000])
def test_a_comment_is_a_line_of_text(cli, image, tmp_path, comment):
    code, out, err = cli("sign", image, "--key", "k.key", f"--comment={comment}")
    assert (code, out) == (2, "") and err.startswith("a comment ") and not (tmp_path / "x.concb.minisig").exists()


def test_only_images_that_run_are_signed(cli, image, write, tmp_path):
    for file in ("x.conc", "k.pub", "-"):
        assert cli("sign", file, "--key", "k.key") == (2, "", f"{file} is no image; `concerto compile` writes one\n")
    assert cli("sign", "none.concb", "--key", "k.key")[0] == 66
    write("cut.concb", (tmp_path / image).read_bytes()[:-1])
    code, out, err = cli("sign", "cut.concb", "--key", "k.key")
    assert (code, out) == (74, "") and err.startswith("cut.concb: image rejected: V004: ")
    assert not list(tmp_path.glob("*.minisig"))


def test_keys_that_are_none(cli, image, write, tmp_path):
    assert cli("sign", image, "--key", "none.key") == (66, "", "cannot read none.key: No such file or directory\n")
    assert cli("sign", image, "--key", "k.pub") == (2, "", "k.pub: a secret key of minisign has a line of 158 bytes in base64\n")
    told = "k.key: no public key: this is a secret key; the public one is in a file of its own\n"
    for words in (["verify", image, "--key", "k.key"], ["run", image, "--trust-key", "k.key"]):
        assert cli(*words) == (2, "", told)
    for words in (["verify", image, "--key", "none.pub"], ["run", image, "--trust-key", "none.pub"]):
        assert cli(*words) == (66, "", "cannot read none.pub: No such file or directory\n")
    for verb in ("sign", "verify"):
        code, out, err = cli(verb, image)
        assert (code, out) == (2, "") and "the following arguments are required: --key" in err


def test_verify_refuses_what_run_refuses(cli, signed, write, tmp_path):
    write("other.conc", SOURCE.replace("hello", "other"))
    assert cli("compile", "other.conc")[0] == 0 and cli("keygen", "-q", "other") == (0, "", "")
    shutil.copy(tmp_path / "x.concb.minisig", tmp_path / "other.concb.minisig")
    for file, key in (("other.concb", "k.pub"), ("x.concb", "other.pub"), ("x.conc", "k.pub"), ("k.pub", "k.pub")):
        verified, ran = cli("verify", file, "--key", key), cli("run", file, "--trust-key", key)
        assert verified.code == ran.code == 74 and verified.out == ran.out == ""
        assert verified == ran or file in ("x.conc", "k.pub")
    key = read_secret_key((tmp_path / "k.key").read_bytes(), str)
    (tmp_path / "x.conc.minisig").write_bytes(sign(key, SOURCE.encode(), ""))
    told = "x.conc: image rejected: V001: a file of 31 bytes holds no image\n"
    assert cli("verify", "x.conc", "--key", "k.pub") == (74, "", told)
    assert cli("verify", signed, "--key", "other.pub", "--key", "k.pub")[0] == 0
    assert cli("run", signed, "--trust-key", "other.pub", "--trust-key=k.pub") == (0, "hello\n", "")


# ---------------------------------------------------------------- encrypted keys


@pytest.fixture
def encrypted(image, tmp_path):
    shutil.copy(MADE / "encrypted.key", tmp_path)
    shutil.copy(MADE / "encrypted.pub", tmp_path)
    return "encrypted.key"


def test_the_password_stands_in_a_variable(cli, image, encrypted, monkeypatch):
    monkeypatch.setenv("CONCERTO_KEY_PASSWORD", PASSWORD)
    assert cli("sign", image, "--key", encrypted)[0] == 0
    assert cli("verify", "-q", image, "--key", "encrypted.pub") == (0, "", "")
    monkeypatch.setenv("CONCERTO_KEY_PASSWORD", "hunter2-wrong")
    assert cli("sign", image, "--key", encrypted) == (2, "", "encrypted.key: the password is not that of the secret key\n")


def test_without_variable_and_terminal_the_way_out_is_told(cli, image, encrypted, monkeypatch):
    monkeypatch.delenv("CONCERTO_KEY_PASSWORD", raising=False)
    told = "encrypted.key is encrypted: set CONCERTO_KEY_PASSWORD to its password\n"
    assert cli("sign", image, "--key", encrypted, stdin=PASSWORD.encode()) == (2, "", told)


def test_on_a_terminal_the_password_is_asked_for(cli, encrypted, monkeypatch):
    import getpass

    monkeypatch.delenv("CONCERTO_KEY_PASSWORD", raising=False)

    class Terminal:
        def isatty(self):
            return True

    asked = []
    monkeypatch.setattr(sys, "stdin", Terminal())
    monkeypatch.setattr(getpass, "getpass", lambda prompt: asked.append(prompt) or PASSWORD)
    assert signing.secret_key(encrypted).public and asked == ["password of encrypted.key: "]

    def ended(prompt):
        raise EOFError

    monkeypatch.setattr(getpass, "getpass", ended)
    with pytest.raises(signing.exits.Exit, match="no password for encrypted.key"):
        signing.secret_key(encrypted)


# ---------------------------------------------------------------- run


def test_run_demands_a_signature(cli, image):
    assert cli("run", image) == (0, "hello\n", "")
    missing = rejected(image, "no trusted signature: there is no x.concb.minisig")
    assert cli("run", image, "--trust-key", "k.pub") == missing
    assert cli("sign", "-q", image, "--key", "k.key") == (0, "", "")
    assert cli("run", image, "--trust-key", "k.pub") == (0, "hello\n", "")
    assert cli("keygen", "-q", "other") == (0, "", "")
    code, out, err = cli("run", image, "--trust-key", "other.pub")
    assert (code, out) == (74, "") and "V005: no trusted signature: it is by the key " in err


def test_run_demands_a_hash(cli, image, tmp_path):
    hash = content_hash((tmp_path / image).read_bytes())
    assert cli("run", image, "--pin", hash) == cli("run", image, f"--pin={'0' * 64}", "--pin", hash.upper()) == (0, "hello\n", "")
    assert cli("run", image, "--pin", "0" * 64) == rejected(image, f"the image {hash} is not one that the host has pinned")
    for wrong in (hash[:-1], "", f"{hash}0", "k.pub"):
        code, out, err = cli("run", image, f"--pin={wrong}")
        assert (code, out) == (2, "") and "argument --pin: " in err and "64 hexadecimal digits" in err
    assert hash in cli("inspect", image).out


def test_both_must_hold(cli, signed, tmp_path):
    hash = content_hash((tmp_path / signed).read_bytes())
    assert cli("run", signed, "--pin", hash, "--trust-key", "k.pub") == (0, "hello\n", "")
    assert cli("run", signed, "--pin", "0" * 64, "--trust-key", "k.pub")[0] == 74
    os.unlink(tmp_path / "x.concb.minisig")
    assert cli("run", signed, "--pin", hash, "--trust-key", "k.pub")[0] == 74


@pytest.mark.parametrize("flags", [["--trust-key", "k.pub"], ["--pin", "0" * 64]])
def test_a_source_is_no_image(cli, signed, write, tmp_path, flags):
    """Whatever it is called, and on standard input too."""
    what = "a signed image" if flags[0] == "--trust-key" else "an image that is pinned"
    assert cli("run", "x.conc", *flags) == rejected("x.conc", f"it is a source, and {what} is demanded")
    assert cli("run", "-", *flags, stdin=SOURCE.encode()) == rejected("-", f"it is a source, and {what} is demanded")
    write("x.concb", SOURCE)
    assert cli("run", "x.concb", *flags) == (74, "", "x.concb: image rejected: V002: the file is no Concerto image\n")


def test_without_the_package_it_is_told_how_to_install_it(cli, signed, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "cryptography", None)
    for name in [name for name in sys.modules if name.startswith("cryptography.")]:
        monkeypatch.delitem(sys.modules, name)
    told = f"signatures need the package cryptography, which is not installed: {install_advice('sign')}\n"
    for words in (["run", "--trust-key", "k.pub"], ["verify", "--key", "k.pub"], ["sign", "--key", "k.key"]):
        assert cli(*words, signed) == (1, "", told)
    assert cli("keygen", "new") == (1, "", told) and not list(tmp_path.glob("new*"))
    hash = content_hash((tmp_path / signed).read_bytes())
    assert cli("run", signed, "--pin", hash) == (0, "hello\n", "")


# ---------------------------------------------------------------- what a level grants

READS = 'fn main() -> Result<Nil, Error> { println(std::fs::read_file("a.txt")?); Ok() }'
MANIFEST = '[project]\nname = "p"\nversion = "1"\nentry = "r.conc"\n\n[permissions]\nfs_read = true\n'


@pytest.fixture
def granted(cli, write, image):
    """A project that grants its source what the image of it reads."""
    write("Concerto.toml", MANIFEST)
    write("a.txt", "text")
    write("r.conc", READS)
    assert cli("run", "r.conc") == (0, "text\n", "")
    assert cli("compile", "r.conc")[0] == 0 and cli("sign", "-q", "r.concb", "--key", "k.key") == (0, "", "")
    return "r.concb"


def test_permissions_of_a_project_count_for_its_source_alone(cli, granted, tmp_path):
    hash = content_hash((tmp_path / granted).read_bytes())
    for level in ([], ["--pin", hash], ["--trust-key", "k.pub"], ["--trust-key", "k.pub", "--pin", hash]):
        code, out, err = cli("run", granted, *level)
        assert (code, out) == (77, "") and err.startswith("error: permission denied: fs:read=a.txt"), level
        assert cli("run", granted, *level, "--allow-fs-read=a.txt") == (0, "text\n", "")


def test_an_image_that_becomes_a_source_meanwhile_is_granted_nothing(cli, granted, write, monkeypatch):
    """Who may write the file exchanges it behind the back of the command: the manifest is no business of what was loaded."""

    def load(path, **options):
        program = inputs.load_program(path, **options)
        write(granted, READS)
        return program

    monkeypatch.setattr(run, "load_program", load)
    code, out, err = cli("run", granted)
    assert (code, out) == (77, "") and err.startswith("error: permission denied: fs:read=a.txt")


def test_tests_of_an_image_have_no_permissions_of_the_project(cli, granted, write):
    tested = '@test("reads") fn reads() { assert(std::fs::read_file("a.txt").is_ok()); }\n'
    write("r.conc", tested)
    assert cli("test", "r.conc")[0] == 0
    assert cli("compile", "r.conc")[0] == 0
    assert cli("test", "r.concb")[0] == 1


# ---------------------------------------------------------------- minisign


@pytest.mark.skipif(shutil.which("minisign") is None, reason="no minisign here: install Debian's package minisign")
def test_the_command_minisign_agrees(cli, signed, tmp_path):
    def minisign(*words):
        return subprocess.run(["minisign", *words], cwd=tmp_path, capture_output=True, timeout=60).returncode

    assert minisign("-V", "-p", "k.pub", "-m", signed) == 0
    assert minisign("-S", "-W", "-s", "k.key", "-m", signed, "-t", "by minisign") == 0
    assert cli("verify", signed, "--key", "k.pub").out.splitlines()[1] == "trusted comment: by minisign"
    assert minisign("-G", "-W", "-p", "m.pub", "-s", "m.key") == 0
    assert cli("sign", "-q", signed, "--key", "m.key") == (0, "", "") and minisign("-V", "-p", "m.pub", "-m", signed) == 0
    assert cli("run", signed, "--trust-key", "m.pub") == (0, "hello\n", "")


# ---------------------------------------------------------------- the guide

GUIDE = (ROOT / "docs" / "guide" / "shipping.md").read_text(encoding="utf-8")


def test_the_commands_of_the_guide_work(cli, tmp_path):
    shutil.copy(ROOT / "examples" / "ticket.conc", tmp_path)
    lines = [line for block in re.findall(r"```sh\n(.*?)```", GUIDE, re.DOTALL) for line in block.splitlines()]
    assert len(lines) == 6
    for line in lines:
        command, *words = shlex.split(line, comments=True)
        code, out, err = cli(*words)
        assert (command, code) == ("concerto", 0), err
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(block, {})
    assert printed.getvalue().split() == re.findall(r"print\(.*# (\w+)", block)
