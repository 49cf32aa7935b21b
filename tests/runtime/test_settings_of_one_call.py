"""What `with` may set for one call acts on the settings of the call (O-3.30)."""

from __future__ import annotations

from typing import Any

import concerto
import pytest
from concerto.vm.declaration_fields import CALL_SETTINGS

VALUES = {
    "base": '"b"', "temperature": "0.25", "top_p": "0.5", "max_tokens": "7", "stop_sequences": '["s"]', "system_prompt": '"p"',
    "max_tool_rounds": "3", "structured": '"tool"', "timeout": "9",
    "reasoning": '"low"', "reasoning_tokens": "2000", "hosted": '[{ "type": "web_search" }]',
}  # fmt: skip


@pytest.mark.parametrize("name", CALL_SETTINGS)
def test_every_setting_of_a_call_changes_its_settings(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from concerto.runtime.calls.settings import CallSettings

    changes: list[tuple[CallSettings, CallSettings]] = []
    of_call = CallSettings.of_call

    def noting(self: CallSettings, overrides: Any) -> CallSettings:
        changes.append((self, of_call(self, overrides)))
        return changes[-1][1]

    monkeypatch.setattr(CallSettings, "of_call", noting)
    program = concerto.compile(
        f'model M {{ provider: offline, base: "m" }}\nfn main() {{ M.with({name}: {VALUES[name]}).execute("x")?; }}'
    )
    with program.session(offline=True) as session:
        session.run()
    ((before, after),) = changes
    differing = [slot for slot in CallSettings.__slots__ if getattr(before, slot) != getattr(after, slot)]
    assert len(differing) == 1
