"""The command line: the program, what reads inputs, what writes outputs, and a file per verb."""
