"""Pretrained encoders: their files, their windows, and EDU vectors from their states."""
