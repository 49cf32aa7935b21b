"""Calls of one function over many rows: `concerto batch` and `concerto.batch` (S-2)."""
