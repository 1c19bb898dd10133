"""What users load: the parser, its options, the folders of models, and the protocol that models implement."""
