"""Speed and memory, measured in one run and printed as JSON."""


def read_anew() -> None:
    """Charts keep what their encoder made of the last texts; where texts come twice, that would be measured instead."""
    from genrst.chart.texts import EncoderCache

    EncoderCache.most_pieces = 0
