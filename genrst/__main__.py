"""Run the command line with `python -m genrst`, even if its script is not on the path."""

import sys

from genrst.cli.main import main

sys.exit(main())
