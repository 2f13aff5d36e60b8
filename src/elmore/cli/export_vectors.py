"""`elmore export-vectors`: vectors or an index to the files of vector stores."""

from typing import Annotated, Literal

from cyclopts import Parameter

from elmore.cli.terminal import print_result


def export_vectors(
    source: str,
    *,
    out: Annotated[str, Parameter(alias="-o")],
    layer: str | None = None,
    dtype: Literal["float32", "float16"] | None = None,
) -> None:
    """Export vectors or an index to Parquet, LanceDB or NumPy memory maps.

    Parameters
    ----------
    source
        A folder of parts or a .parquet file of elmore embed, or an index of elmore index.
    out
        NAME.parquet, FOLDER/NAME.lance (the table NAME of a LanceDB database), or a name that ends
        in / for a folder of NumPy arrays.
    layer
        The layer, if there are several.
    dtype
        The type of the vectors; default: as they are, and float16 in LanceDB.
    """
    from elmore.integrations.vector_stores import export

    made = export(source, out, layer=layer, dtype=dtype)
    vector = made.schema.field("vector").type.value_type
    print_result({
        "out": out, "rows": made.n_rows, "dim": made.dim,
        "dtype": "float16" if str(vector) == "halffloat" else "float32",
    })  # fmt: skip
