"""Scores of trees and segmentations against gold ones."""
