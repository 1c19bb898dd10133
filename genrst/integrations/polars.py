"""Tables as Polars data frames.

>>> from genrst import Document, Leaf, Unit, dependency_rows
>>> tree = Unit("reason", "SN", (Leaf(0), Leaf(1)))
>>> data_frame(dependency_rows(Document.from_edus("rain", ["It rained,", "so we stayed in."], tree))).schema["head"]
Int64
"""

from collections.abc import Iterable

import polars

from genrst.outputs.tables import Row


def data_frame(rows: Iterable[Row]) -> polars.DataFrame:
    """Return the rows of any table as a data frame: `unit_rows`, `dependency_rows`, `profile_rows`, `chunk_rows`, …."""
    # Infer types from all cells: the first may be empty, or an integer in a column of floats.
    return polars.DataFrame([dict(row) for row in rows], infer_schema_length=None)
