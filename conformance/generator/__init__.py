"""Programs from a seed (C-12.4).

`tree` is their shape; `values`, `expressions` and `statements` grow them; `reduce` shrinks them.
"""
