"""Tables as pandas data frames.

>>> from genrst import Document, Leaf, Unit, dependency_rows
>>> tree = Unit("reason", "SN", (Leaf(0), Leaf(1)))
>>> data_frame(dependency_rows(Document.from_edus("rain", ["It rained,", "so we stayed in."], tree))).dtypes["head"]
Int64Dtype()
"""

from collections.abc import Iterable, Sequence

import pandas

from genrst.outputs.tables import Row


def data_frame(rows: Iterable[Row]) -> pandas.DataFrame:
    """Return the rows of any table as a data frame: `unit_rows`, `dependency_rows`, `profile_rows`, `chunk_rows`, ….

    Columns have pandas' nullable types (`string`, `boolean`, `Int64` and `Float64`), so integers stay integers if a
    cell is empty.
    """
    listed = list(rows)
    names = dict.fromkeys(name for row in listed for name in row)
    columns = {name: [row.get(name) for row in listed] for name in names}
    return pandas.DataFrame({name: pandas.array(cells, _dtype(cells)) for name, cells in columns.items()})


def _dtype(cells: Sequence[object]) -> str:
    """Return the type that fits all cells of a column, or `object` if all are empty."""
    types = {type(cell) for cell in cells if cell is not None}
    if types == {int, float}:
        return "Float64"
    names = {str: "string", bool: "boolean", int: "Int64", float: "Float64"}
    return names.get(types.pop(), "object") if len(types) == 1 else "object"
