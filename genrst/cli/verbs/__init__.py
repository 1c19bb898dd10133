"""One module per verb, with `add_arguments(parser)` and `run(arguments)`; the module's docstring is the help text."""
