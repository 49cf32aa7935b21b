"""`python -m concerto` is the command `concerto`: the process ends with the exit code that `main` returns. Hands on nothing;
commands and flags are for `cli/`."""

from __future__ import annotations

import sys

from .cli.main import main

sys.exit(main())
