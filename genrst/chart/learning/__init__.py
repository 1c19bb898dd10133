"""The training of charts, and their network in PyTorch."""
