"""The command line: a file per verb, over what reads inputs and writes outputs."""
