"""Benchmarks of speed and memory, each of which prints JSON."""


def read_anew() -> None:
    """Disable the encoder cache of charts, which would make repeated texts look too fast."""
    from genrst.chart.texts import EncoderCache

    EncoderCache.most_pieces = 0
