"""Which words signal relations, and which units secondary edges relate: the head of a trained chart."""
