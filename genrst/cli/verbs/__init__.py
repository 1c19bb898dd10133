"""A file per verb: `add_arguments(parser)` and `run(arguments)`; its docstring is its help."""
