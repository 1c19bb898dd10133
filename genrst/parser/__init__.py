"""What users load: packages of models, and the stages from text to tree."""
