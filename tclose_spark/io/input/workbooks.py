"""Sheets of workbooks (Excel, OpenDocument) as tables in memory."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from difflib import get_close_matches
from html import unescape
from typing import Any
from zipfile import BadZipFile, ZipFile

import pyarrow as pa

from tclose_spark.errors import InputError
from tclose_spark.io.input.cell_values import column_of, text_of_cell
from tclose_spark.io.input.csv_options import lines_left_out, option_of
from tclose_spark.io.input.notes import note
from tclose_spark.io.storage.stores import Place
from tclose_spark.runfile.spec import Input

Rows = Sequence[Sequence[Any]]
ERROR_OR_FORMULA = re.compile(
    rb"<(?:\w+:)?c\b(?:[^>]*\st=[\"']e[\"'][^>]*>"
    rb"|(?![^>]*\st=[\"']str[\"'])[^>]*(?<!/)>\s*<(?:\w+:)?f\b(?:[^>]*/>|[^>]*>[^<]*</(?:\w+:)?f>)\s*"
    rb"(?:<(?:\w+:)?v\s*/>|<(?:\w+:)?v>\s*</(?:\w+:)?v>)?\s*</(?:\w+:)?c>)"
)
"""A cell of Excel with an error, or with a formula and no stored value."""
ERROR_OF_OPEN_DOCUMENT = re.compile(rb"calcext:value-type=[\"']error[\"']")


def cells(file: Place, source: Input) -> tuple[Rows, Sequence[str]]:
    """(the cells of a workbook's first sheet, or of the option `sheet`; the names of all). Empty
    cells are "".

    Raises:
        InputError: if it has no such sheet. Names of sheets may be those of people, so only alike
            ones are named.
    """
    from python_calamine import CalamineWorkbook

    with file.open("rb") as content:
        book = CalamineWorkbook.from_filelike(content)
        sheet = option_of(source, "sheet")
        names = book.sheet_names
        if sheet and sheet not in names:
            alike = get_close_matches(sheet, names, 1)
            hint = f"; did you mean {alike[0]!r}?" if alike else ""
            raise InputError(
                f"input.options.sheet: {file.name} has no sheet of this name, but {len(names)} "
                f"other{hint}"
            )
        found = book.get_sheet_by_name(sheet) if sheet else book.get_sheet_by_index(0)
        return found.to_python(skip_empty_area=False), names


def has_names(source: Input) -> bool:
    """Whether the first row of a sheet has the names of the columns. Only the option `header`
    denies it.
    """
    return option_of(source, "header").lower() != "false"


def read_workbook(file: Place, source: Input) -> pa.Table:
    """The table in a sheet. Rows of empty cells are left out, and cells with errors are missing,
    with a note.

    Raises:
        InputError: if the sheet has no rows, or there is no such sheet.
    """
    rows, names = cells(file, source)
    below = rows[lines_left_out(source, "skip_rows") :]
    held = [row for row in below if _is_filled(row)]
    if not held:
        raise InputError(f"input.path: {file.name} has no rows")
    held = held[: len(held) - lines_left_out(source, "skip_footer")]
    _note_empty_rows(below, file.name)
    _note_lost_cells(file, option_of(source, "sheet") or names[0])
    header, rows = (held[0], held[1:]) if has_names(source) else (None, held)
    columns = [
        [None if cell == "" else cell for cell in column] for column in zip(*rows, strict=True)
    ]
    width = len(below[0])
    found = {}
    for place in range(width):
        column = columns[place] if rows else []
        named = header is not None and header[place] != ""
        if named or any(cell is not None for cell in column):
            found[place] = column_of(column) if rows else pa.nulls(0, pa.string())
    return pa.table([*found.values()], [_name(header, place) for place in found])


def _name(header: Sequence[Any] | None, place: int) -> str:
    """The name of a column, as CSV files have it."""
    return f"_c{place}" if header is None else text_of_cell(header[place]) or f"_{place}"


def _is_filled(row: Sequence[Any]) -> bool:
    return any(cell != "" for cell in row)


def _note_empty_rows(rows: Rows, file: str) -> None:
    filled = [place for place, row in enumerate(rows) if _is_filled(row)]
    empty = filled[-1] - filled[0] + 1 - len(filled)
    if empty:
        note(f"{file} has {empty} empty rows between others, which are left out")


def _note_lost_cells(file: Place, sheet: str) -> None:
    lost = _lost_cells(file, sheet)
    if lost:
        note(
            f"{file.name} has {lost} cells with errors, or with formulas without a stored value, "
            "read as missing"
        )


def _lost_cells(file: Place, sheet: str) -> int:
    """How many cells of a sheet hold an error, or a formula without a value; 0 in a format that is
    not known XML.
    """
    ending = file.name.lower().rpartition(".")[2]
    with suppress(BadZipFile, KeyError), file.open("rb") as content:
        if ending in ("xlsx", "xlsm"):
            return len(ERROR_OR_FORMULA.findall(_sheet_of_excel(ZipFile(content), sheet)))
        if ending == "ods":
            return _errors_of_open_document(ZipFile(content), sheet)
    return 0


def _sheet_of_excel(book: ZipFile, sheet: str) -> bytes:
    """The XML of a sheet; nothing if the workbook has it under no known name."""
    relations = _elements(book.read("xl/_rels/workbook.xml.rels"), b"Relationship")
    targets = {one.get("Id"): one.get("Target", "") for one in relations}
    for one in _elements(book.read("xl/workbook.xml"), b"sheet"):
        if one.get("name") == sheet:
            target = targets.get(one.get("r:id"), "")
            path = target[1:] if target.startswith("/") else f"xl/{target}"
            return book.read(path) if path in book.namelist() else b""
    return b""


def _elements(xml: bytes, tag: bytes) -> Iterator[dict[str, str]]:
    """The attributes of the elements with a tag."""
    for found in re.findall(rb"<(?:\w+:)?" + tag + rb"\s[^>]*>", xml):
        pairs = re.findall(r"([\w:]+)=(?:\"([^\"]*)\"|'([^']*)')", found.decode())
        yield {name: unescape(one or other) for name, one, other in pairs}


def _errors_of_open_document(book: ZipFile, sheet: str) -> int:
    parts = re.split(rb"(?=<table:table\s)", book.read("content.xml"))
    return sum(
        len(ERROR_OF_OPEN_DOCUMENT.findall(part))
        for part in parts
        if any(one.get("table:name") == sheet for one in _elements(part, b"table"))
    )
