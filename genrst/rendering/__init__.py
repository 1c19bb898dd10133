"""Pictures of trees, and of the difference of two: plain geometry, drawn as SVG, HTML, PNG, PDF and terminal text."""
