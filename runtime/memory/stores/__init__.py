"""Where logs live: one protocol, four stores, one contract suite (tests/memory/contract.py)."""
