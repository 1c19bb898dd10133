"""The network: EDU encoder, composition, stack, heads and EDU language model, one file a part."""
