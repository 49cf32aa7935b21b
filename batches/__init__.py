"""Calls of one function over many rows: `concerto batch` and `concerto.batch` (S-2.1 to S-2.4). Nothing is imported here;
`batch.py` is what users and the command enter by, the command brings permissions (`grants.py`) and writes files (`output.py`)
besides, and the model calls themselves are the runtime's."""
