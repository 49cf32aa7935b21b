"""The clock of `concerto test`: a thread takes its time, and waits beside it are skipped (V-6.6)."""

from __future__ import annotations

import asyncio
import time

from concerto.runtime.session.testing import SkippingClock


def test_a_thread_takes_its_time_and_a_wait_none() -> None:
    clock = SkippingClock()
    loop = clock.new_loop()

    async def main() -> tuple[float, float, float]:
        began = clock.now()
        await asyncio.wait_for(loop.run_in_executor(None, time.sleep, 0.05), 60)  # a timer that must not be skipped to
        thread, real, virtual = clock.now() - began, time.monotonic(), clock.now()
        await asyncio.sleep(5)
        return thread, time.monotonic() - real, clock.now() - virtual

    try:
        thread, waited, told = loop.run_until_complete(main())
        loop.run_until_complete(loop.shutdown_default_executor())
    finally:
        loop.close()
    assert 0.05 <= thread < 30 and waited < 4 and told >= 5
