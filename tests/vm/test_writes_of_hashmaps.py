"""What a write of a hashmap needs of its image: hidden functions, which an image from elsewhere may lack (P014)."""

from __future__ import annotations

import pytest
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Session, run_offline
from concerto.vm.builtins.hashmaps import FINISH, KEEP, LOAD
from concerto.vm.interp.link import load_image
from concerto.vm.values import HashMapRef


def session_without(lacking: tuple[str, str], store: str) -> Session:
    source = f"""
        hashmap h: HashMap<String, Int> = HashMap::new(){store};
        fn main() {{ h.on_any_change(|_k, _old, _new| nil); h.set("a", 1); }}
    """
    compiled = compile_source(source.encode(), "main.conc")
    assert compiled.image is not None, [d.message for d in compiled.diagnostics.found]
    program = load_image(compiled.image)
    program.language_methods.pop(lacking, None)
    loop = OfflineLoop()
    host = Host(
        emit=lambda *_: None, print=print, env={}, now=loop.time, sleep=loop.sleep, random=lambda: 0.5, loop=loop, offline=True
    )
    return Session(program, host)


@pytest.mark.parametrize(("store", "lacking"), [("", FINISH), ('.store("durable")', KEEP)])
def test_an_image_without_the_function_is_a_panic(store: str, lacking: tuple[str, str]) -> None:
    outcome = run_offline(session_without(lacking, store))
    assert outcome.panic is not None and outcome.panic.code == "P014", outcome.panic
    assert "::".join(lacking) in outcome.panic.message


def test_a_file_that_a_restored_state_reads_again() -> None:
    session = session_without(LOAD, "")
    session.unread = [HashMapRef("h", ())]
    outcome = run_offline(session)
    assert outcome.panic is not None and outcome.panic.code == "P014", outcome.panic
    assert "::".join(LOAD) in outcome.panic.message
