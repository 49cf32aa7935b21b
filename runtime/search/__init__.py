"""Hybrid search over documents: BM25 of their words and cosines of their vectors, fused (O-1.241).

This file has no names. `index.SearchIndex` is the whole of it to others, a plain Python class that knows no program;
`session_indexes.Indexes` gives programs their indexes and asks embedders for vectors. Inside, `search_tables` has the tables and
failures, `search_file` keeps them in SQLite and `search_database` in PostgreSQL, `words` and `vectors` make the two rankings. How
a document is stored, or two rankings are fused, is changed in `index`.
"""
