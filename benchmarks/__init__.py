"""Speed and memory, measured in one run and printed as JSON."""


def read_anew() -> None:
    """Turn off the encoder cache of charts, which would make repeated texts look too fast."""
    from genrst.chart.texts import EncoderCache

    EncoderCache.most_pieces = 0
