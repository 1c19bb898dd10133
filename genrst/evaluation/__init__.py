"""Evaluation of trees, segmentations, signals and secondary edges against gold annotation."""
