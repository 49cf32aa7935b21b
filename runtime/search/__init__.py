"""Hybrid search over documents: BM25 of their words and cosines of their vectors, fused (O-1.241).

`index` is the whole of it to others; `search_file` has the tables, transactions and failures, `words` and `vectors` make the two
rankings.
"""
