"""Python's cyclic garbage collector, paused while many objects are made that are no garbage (V-8.7).

Hands on `gc_pause` to the pipeline, to `roots`, which parses files for the verb `test`, and to the API, which loads images that
were compiled earlier. It stands apart from the compiler, so that who loads an image loads no more than this. What a caller has
switched off or frozen stays so. Nothing is raised but what the code in the pause raises.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

# A compilation makes a growing tree and no cyclic garbage, and so does the loading of an image; yet the collector walks over the
# whole heap again and again as the tree grows, which took up to half of the time, and more of it the longer the program. What is
# not cyclic is freed all the same.

FULL_AFTER = 500_000  # objects that compilations leave before one of the next looks for garbage among them: 25,000 lines


class _Collector:
    """The state of Python's cyclic garbage collector. Compilations may overlap in threads: the first pauses it and the last
    starts it again."""

    def __init__(self) -> None:
        self.lock = Lock()
        self.pauses = 0
        self.survivors = 0  # objects that compilations left since the last full collection
        self.full_collections = 0  # how many of those there have been
        self.is_frozen = False  # whether a caller was seen to have frozen objects

    def pause(self) -> bool:
        """Stop the collector for one compilation. Return False, with nothing changed, if the caller has stopped it already:
        who may also start it again at any time."""
        with self.lock:
            if not self.pauses:
                if not gc.isenabled():
                    return False
                self.forget_collected()
                if self.survivors > FULL_AFTER:
                    gc.collect()
                gc.disable()
            self.pauses += 1
            return True

    def resume(self) -> None:
        """End one pause; the last one starts the collector."""
        with self.lock:
            self.pauses -= 1
            if not self.pauses:
                self.promote()
                gc.enable()

    def promote(self) -> None:
        """Make the new objects old without the walk over them that would come first and find them all in use. Freezing and
        thawing moves them. What a caller has frozen would thaw too, so then the walk is left to the collector, from then on: to
        look for frozen objects again would walk over all of them."""
        self.is_frozen = self.is_frozen or gc.get_freeze_count() > 0
        if not self.is_frozen:
            self.forget_collected()
            self.survivors += gc.get_count()[0]
            gc.freeze()
            gc.unfreeze()

    def forget_collected(self) -> None:
        """Begin to count anew if a full collection has taken place since the last look."""
        count = gc.get_stats()[-1]["collections"]
        if count != self.full_collections:
            self.full_collections, self.survivors = count, 0


_collector = _Collector()


@contextmanager
def gc_pause() -> Iterator[None]:
    """Pause Python's cyclic garbage collector in the body, and start it again behind the last body of any thread. A collector
    that is off already stays off. To be used in `with`; what the body raises passes through."""
    paused = _collector.pause()
    try:
        yield
    finally:
        if paused:
            _collector.resume()
