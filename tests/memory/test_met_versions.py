"""What a session remembers of the keys it has met, however many it serves (M-14.6)."""

from concerto.runtime.memory import memories
from concerto.runtime.memory.memories import MetVersions


def test_the_newest_are_known(monkeypatch):
    monkeypatch.setattr(memories, "MOST", 3)
    met = MetVersions()
    for number in range(3):
        met.meet(("p", str(number)), number + 5)
    met.meet(("p", "0"), 9)  # met again, so it is new
    met.meet(("p", "3"), 8)
    assert [met.version(("p", str(number))) for number in range(4)] == [9, 0, 7, 8]
    met.forget(("p", "0"))
    assert met.version(("p", "0")) == 0
