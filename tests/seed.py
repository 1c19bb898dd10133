"""The seed of all random tests: GENRST_SEED, or a new one for each run. pytest prints it."""

import os
import secrets

# The environment hands it on to the processes of pytest-xdist.
SEED = int(os.environ.setdefault("GENRST_SEED", str(secrets.randbits(32))))
