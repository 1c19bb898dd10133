"""Whole collections, disk to disk: what is to be parsed, who parses it, and the finished parts, which are the state."""
