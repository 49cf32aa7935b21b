"""Programs from a seed (C-12.4).

`tree` is their shape; `values`, `declared`, `expressions` and `statements` grow them, each built on the ones before; `reduce`
shrinks them. `generate.py` takes `generate` and `reduce`; no program is run here.
"""
