"""Logging in to servers of the official SDK that want a login, through its OAuth provider (O-4.56)."""

from __future__ import annotations

import asyncio
import json
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import concerto
import pytest

pytest.importorskip("mcp")

from concerto.runtime.access.secrets import Redactor
from concerto.runtime.mcp.login import Tokens
from mcp.shared.auth import OAuthClientInformationFull
from pydantic import AnyUrl

from ..command import concerto as command
from .test_rich import at, serving

GUARDED = Path(__file__).with_name("guarded.py")
PROGRAM = concerto.compile("""
mcp Wiki { }
pub fn count() -> Result<Any, ToolError> { Wiki.call("count", { words: ["a", "b"] }) }
""")
BACK = "http://127.0.0.1:9/back"
WANTS = "mcp Wiki: the server wants a login (401): "


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class Person:
    """Whoever sits before the browser: goes to each page, and says where the page leads."""

    def __init__(self) -> None:
        self.pages: list[str] = []

    def visit(self, url: str) -> str:
        self.pages.append(url)
        with pytest.raises(urllib.error.HTTPError) as left:
            urllib.request.build_opener(NoRedirect).open(url)
        left.value.close()
        return str(left.value.headers["location"])

    async def visit_later(self, url: str) -> str:
        return await asyncio.to_thread(self.visit, url)


@pytest.fixture(scope="module")
def issuer() -> Iterator[int]:
    with serving(GUARDED) as port:
        yield port


@pytest.fixture(scope="module")
def elsewhere(issuer: int) -> Iterator[int]:
    with serving(GUARDED, issuer) as port:
        yield port


def outcome(port: int, *nets: str, **options: Any) -> Any:
    """What a session gets from the server: the value, or variant and message of the error."""
    grants = concerto.Permissions(net=nets or ("127.0.0.1",))
    mcp = {"Wiki": {**at(port), **options.pop("fields", {})}}
    with PROGRAM.session(offline=True, mcp=mcp, permissions=grants, **options) as session:
        try:
            return session.call("count")
        except concerto.ProgramError as error:
            value = error.value
            assert isinstance(value, concerto.ErrorValue)
            return value.variant, value.message


def test_without_a_browser_the_error_names_the_way_out(issuer: int, tmp_path: Path) -> None:
    header = 'give it a token in `headers`, as `{ "Authorization": env("TOKEN") }`'
    assert outcome(issuer) == ("ConnectionFailed", f"{WANTS}{header}, or `browser=concerto.Browser(…)`")
    fields = f'transport: "http", url: "http://127.0.0.1:{issuer}/mcp"'
    program = f'fn main() {{ println(Wiki.call("count", {{ words: ["a"] }}).map_err(|e| e.message)); }}\nmcp Wiki {{ {fields} }}'
    (tmp_path / "main.conc").write_text(program)
    done = command("run", "main.conc", "--allow-net=127.0.0.1", cwd=tmp_path)
    assert done.out == f"Err({WANTS}{header})\n"


def test_a_person_logs_in_once(issuer: int) -> None:
    """What was got is kept where the host says, and is a secret."""
    person, tokens = Person(), {}
    browser = concerto.Browser(person.visit, BACK, tokens)
    assert outcome(issuer, browser=browser) == {"result": 2}
    assert outcome(issuer, browser=browser) == {"result": 2}
    assert len(person.pages) == 1 and list(tokens) == [f"http://127.0.0.1:{issuer}/mcp"]
    assert set(json.loads(*tokens.values())) == {"client", "token"}
    assert outcome(issuer, browser=concerto.Browser(person.visit_later, BACK)) == {"result": 2}
    assert len(person.pages) == 2


def test_a_header_comes_before_a_browser(issuer: int) -> None:
    person = Person()
    browser = concerto.Browser(person.visit, BACK)
    assert outcome(issuer, browser=browser, fields={"headers": {"Authorization": "Bearer granted-1"}}) == {"result": 2}
    variant, message = outcome(issuer, browser=browser, fields={"headers": {"authorization": "Bearer no"}})
    assert (variant, message.startswith(WANTS)) == ("ConnectionFailed", True)
    assert person.pages == []


def test_another_host_of_the_login_needs_its_permission(issuer: int, elsewhere: int) -> None:
    person = Person()
    browser = concerto.Browser(person.visit, BACK)
    variant, message = outcome(elsewhere, f"127.0.0.1:{elsewhere}", browser=browser)
    assert (variant, f"net=127.0.0.1:{issuer}" in message, person.pages) == ("PermissionDenied", True, [])
    assert outcome(elsewhere, f"127.0.0.1:{elsewhere}", f"127.0.0.1:{issuer}", browser=browser) == {"result": 2}


def fails(url: str) -> str:
    raise OSError("no display")


FAULTS: dict[str, tuple[Callable[[str], Any], str]] = {
    "an exception": (fails, "the browser of the host failed: no display"),
    "nothing": (lambda url: None, "the login was refused: its last URL has no `code`"),
    "a refusal": (lambda url: f"{BACK}?error=access_denied&error_description=not+you", "the login was refused: not you"),
    "no URL": (lambda url: "http://[back", "the login was refused: its last URL has no `code`"),
    "another state": (
        lambda url: f"{BACK}?code=c&state=s", "the server wants a login (401): logging in by the browser of the host has given "
        "nothing that it takes",
    ),
}  # fmt: skip


@pytest.mark.parametrize("fault", FAULTS)
def test_a_login_that_fails(fault: str, issuer: int, capfd: pytest.CaptureFixture[str]) -> None:
    visit, message = FAULTS[fault]
    assert outcome(issuer, browser=concerto.Browser(visit, BACK)) == ("ConnectionFailed", f"mcp Wiki: {message}")
    assert capfd.readouterr().err == ""


def test_a_redirect_url_that_the_library_does_not_take_is_a_failure_of_the_call(issuer: int) -> None:
    says = "mcp Wiki: `redirect_url` of the browser is no URL: http://a%zz/"
    assert outcome(issuer, browser=concerto.Browser(fails, "http://a%zz/")) == ("ConnectionFailed", says)


@pytest.mark.parametrize("text", ["{", "[]", '{"token": 5}', '{"token": {}}'])
def test_tokens_that_are_none(text: str, issuer: int) -> None:
    url = f"http://127.0.0.1:{issuer}/mcp"
    variant, message = outcome(issuer, browser=concerto.Browser(fails, BACK, {url: text}))
    assert variant == "ConnectionFailed"
    assert message in [f"mcp Wiki: `tokens` of the browser holds no {what} under {url}" for what in ("login", "token")]


def test_a_browser_shows_no_secret() -> None:
    browser = concerto.Browser(fails, BACK, {"https://a.example": "token-1"}, "me", "secret-1")
    assert "secret-1" not in repr(browser) and "token-1" not in repr(browser) and "me" in repr(browser)
    assert browser == browser and len({browser, concerto.Browser(fails, BACK)}) == 2


def test_the_secret_of_a_registered_client_is_shown_nowhere() -> None:
    run = SimpleNamespace(redactor=Redactor())
    kept = Tokens(run, SimpleNamespace(url="https://a.example", name="a"), concerto.Browser(fails, BACK), None)  # type: ignore[arg-type]
    client = OAuthClientInformationFull(client_id="c", client_secret="hush-hush-1", redirect_uris=[AnyUrl(BACK)])
    asyncio.run(kept.set_client_info(client))
    assert "hush-hush-1" not in run.redactor.clean("the secret hush-hush-1")
    later = Tokens(SimpleNamespace(redactor=Redactor()), kept.settings, kept.browser, None)  # type: ignore[arg-type]
    assert asyncio.run(later.get_client_info()) == client
    assert "hush-hush-1" not in later.run.redactor.clean("the secret hush-hush-1")


class Keyring(dict[str, str]):
    """A mapping of the host whose file or service is not there."""

    def __init__(self, reads: bool) -> None:
        self.reads = reads

    def get(self, key: str, default: Any = None) -> Any:
        if not self.reads:
            raise OSError("the keyring is locked")
        return default

    def __setitem__(self, key: str, value: str) -> None:
        raise OSError("the keyring is locked")


@pytest.mark.parametrize("reads", [False, True])
def test_tokens_that_cannot_be_kept(reads: bool, issuer: int) -> None:
    browser = concerto.Browser(Person().visit, BACK, Keyring(reads))
    assert outcome(issuer, browser=browser) == (
        "ConnectionFailed", "mcp Wiki: `tokens` of the browser failed: the keyring is locked"
    )


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((5, BACK), "open is 5; it is a function of a URL"),
        ((fails, "back"), "redirect_url is 'back'; it is a URL of http or https"),
        ((fails, "http://"), "redirect_url is 'http://'; it is a URL of http or https"),
        ((fails, "http://[back"), r"redirect_url is 'http://\[back'; it is a URL of http or https"),
        ((fails, "https://here:99999/"), "redirect_url is 'https://here:99999/'; it is a URL of http or https"),
        ((fails, BACK, ()), "tokens is of the type tuple; it is a mapping that can be changed"),
        ((fails, BACK, {}, 5), "client_id is of the type int; it is a str, or None"),
        ((fails, BACK, {}, ""), "client_id is empty; give one, or leave it out"),
    ],
)
def test_a_browser_of_another_form(given: tuple[Any, ...], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        concerto.Browser(*given)
    with pytest.raises(ValueError, match="browser is 5; it is a Browser, or None"):
        PROGRAM.session(browser=5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="browser is of the type dict; it is a Browser, or None"):
        PROGRAM.session(browser={"client_secret": "s3cret"})  # type: ignore[arg-type]
