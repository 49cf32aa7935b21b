"""`python -m concerto` is the command `concerto`."""

import sys

from .cli import main

sys.exit(main())
