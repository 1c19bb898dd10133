"""Trees of discourse units: nodes, relations, binarisation, dependencies, importance, measures."""
