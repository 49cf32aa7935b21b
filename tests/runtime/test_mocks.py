"""A mock that has no reply left is a panic of its own code; `concerto test` shows the text only (O-8.17)."""

from __future__ import annotations

import pytest
from concerto.cli.run import run_session
from concerto.compiler.pipeline import compile_source
from concerto.runtime.host import Host
from concerto.runtime.loop import OfflineLoop
from concerto.runtime.session.session import Outcome, Session
from concerto.runtime.session.testing import chosen, run_tests
from concerto.vm.interp.link import load_image

HEAD = 'model M { provider: openai, base: "m" }\nagent A { connector: a }\n'
MANY = 'mock M { responses: ["one", "two"] } M.execute("a")?; M.execute("b")?;'
DEEPER = ("[a]", '{"a": a}', "Some(a)")
ENDS = {
    f'{MANY} M.execute("c")?;': "P414",
    f"{MANY}": None,
    'mock A { responses: ["one"] } A.execute("a")?; A.execute("b")?;': "P414",
    'mock A { responses: ["one"] } A.execute("a")?;': None,
    'mock M { responses: ["one"] } M.execute("a")?; panic("own");': "P001",
    **{f'let mut a: Any = 1; for _i in 0..9999 {{ a = {one} as Any; }} mock M {{ responses: [a] }}': "P103" for one in DEEPER},
}


@pytest.mark.parametrize("body", ENDS)
def test_the_code_of_a_mock_without_a_reply(body: str) -> None:
    compiled = compile_source(f"{HEAD}@test\nfn t() {{ {body} }}\n".encode(), "t.conc")
    assert compiled.image is not None, compiled.diagnostics.ordered()
    program = load_image(compiled.image)
    ended: list[Outcome] = []

    def host(emit: object) -> Host:
        loop = OfflineLoop(0.0)
        return Host(
            emit=emit, print=print, env={}, now=loop.time, sleep=loop.sleep, random=lambda: 0.0, loop=loop,  # type: ignore[arg-type]
            offline=True, agents={"a": {"command": "nobody"}},
        )  # fmt: skip

    def run(session: Session, function: int) -> Outcome:
        ended.append(run_session(session, function=function))
        return ended[-1]

    (outcome,) = run_tests(program, chosen(program, ""), host, run)
    panic = ended[0].panic
    assert (panic and panic.code) == ENDS[body]
    assert outcome.passed is (panic is None)
    if ENDS[body] == "P414":
        assert panic is not None and panic.message.startswith(f"mock {'M' if 'mock M' in body else 'A'} has no reply left")
