"""The command line: the program, input and output handling, and one module per verb."""
