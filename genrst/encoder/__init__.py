"""Pretrained encoders: their files, the windows they read, EDU vectors from their states."""
