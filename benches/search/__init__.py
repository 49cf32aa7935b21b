"""How well and how fast an index finds passages (O-1.241): see `benches/README.md`."""
