"""EDU segmentation, whole: features, network, rules, data and training."""
