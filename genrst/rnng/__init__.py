"""The paper's model (RNNG): its network, transition system, search and training."""
