"""What people run: the command line, a file per verb."""
