"""What a chart learns, and the network that learns it, in PyTorch."""
