"""Files that are taken for text and are none, such as PDFs: what each is, by its first bytes.

They would be refused as damaged text all the same, but not by what they are.
"""

import zipfile
from typing import IO

from elmore.errors import DataError
from elmore.stores import AnyPath

_TEXT = "save it as plain text (.txt) in UTF-8"
_TABLE = "save its sheet as CSV in UTF-8 (.csv)"
_ZIP = b"PK\x03\x04"
_MAGIC = {
    b"%PDF-": ("a PDF", "extract its text, such as by pdftotext"),
    b"{\\rtf": ("an RTF document", _TEXT),
    b"\xd0\xcf\x11\xe0": ("an old Word or Excel file", f"{_TEXT}, or {_TABLE}"),
    b"PAR1\x15": ("a Parquet file", "rename it .parquet"),
    b"\x1f\x8b": ("compressed by gzip", "rename it .gz"),
    b"\xfd7zXZ": ("compressed by xz", "rename it .xz"),
    b"\x28\xb5\x2f\xfd": ("compressed by Zstandard", "rename it .zst"),
}
_IN_ZIP = {
    "word/": ("a Word document", _TEXT),
    "xl/": ("an Excel workbook", _TABLE),
    "ppt/": ("a PowerPoint presentation", _TEXT),
    "META-INF/": ("an OpenDocument or EPUB file", _TEXT),
}


def refuse_foreign_file(raw: IO[bytes], path: AnyPath) -> None:
    """Refuse a file that begins as a document, an archive or a table of another kind does."""
    peek = getattr(raw, "peek", None)  # which remote files have not
    if peek is None:
        return
    begin: bytes = peek(8)
    if begin.startswith(_ZIP):
        what, fix = _kind_of_zip(path)
        raise DataError(f"{path} is {what}, not text; {fix}")
    for magic, (what, fix) in _MAGIC.items():
        if begin.startswith(magic):
            raise DataError(f"{path} is {what}, not text; {fix}")


def _kind_of_zip(path: AnyPath) -> tuple[str, str]:
    try:
        with path.open("rb") as raw, zipfile.ZipFile(raw) as archive:
            names = archive.namelist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        names = []
    for folder, kind in _IN_ZIP.items():
        if any(name.startswith(folder) for name in names):
            return kind
    return "a zip archive", "rename it .zip, or extract it"
