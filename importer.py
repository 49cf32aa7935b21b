"""Import programs of Concerto like modules of Python (P-2.1).

    import concerto.importer
    import desk                    # desk.conc, or desk/mod.conc, on sys.path

    print(desk.triage("My invoice is wrong."))

Importing this module is all there is to do, once in a process: it puts a finder into `sys.meta_path`, and hands on nothing. No
program is imported by it. `concerto.configure` sets options for the sessions of programs that are imported, `desk.session(…)`
gives one of its own; what is found and kept is said in `api/imports.py` and `api/compiled_files.py`.
"""

from __future__ import annotations

from . import __version__
from .api.imports import install

install(__version__)
