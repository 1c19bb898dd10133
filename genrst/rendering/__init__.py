"""Pictures of trees: a layout in plain geometry, and drawings of it as SVG, PNG, PDF and terminal text."""
