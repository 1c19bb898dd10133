"""`python -m genrst`: the program, also where its scripts are not on the path."""

import sys

from genrst.cli.main import main

sys.exit(main())
