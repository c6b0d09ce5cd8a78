"""Dictionaries in CSV files: a row for each column of the described table, with its name and what
it means.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from io import StringIO

from tclose_spark.errors import InputError
from tclose_spark.table.column_names.hints import between_commas, hint_of, words_of

SEPARATORS = (",", ";", "\t", "|")
NAMES = between_commas("""
    variable field name, variable name, variable, column name, column, field name, field, varname,
    var, attribute, attribute name, feature, spalte, feld, merkmal, variablenname, feldname, champ,
    colonne, campo, columna, colonna, variabele, kolom, veld, name, nom, nombre
""")
"""What headers call the name of a column, the surest first, in the words of `words_of`."""
TEXTS = between_commas("""
    field label, variable label, label, title, business name, question, question text, description,
    variable description, column description, field description, definition, meaning, explanation,
    etikett, bezeichnung, beschreibung, bedeutung, libelle, intitule, definicion, etiqueta,
    descripcion, etichetta, descrizione, significato, omschrijving, beschrijving
""")
"""What they call its description; a label before a longer text."""
TYPES = ("field type",)
VALIDATIONS = ("text validation type or show slider number",)
IDENTIFIERS = ("identifier", "is identifier", "direct identifier")
CHOICES = ("choices calculations or slider labels", "select choices or calculations")
MARKED = frozenset(["y", "yes", "x", "1", "true", "ja", "oui", "si", "s\u00ed"])
MARKUP = re.compile(r"<[^<>]*>|&nbsp;")
NO_COLUMN = "descriptive"
"""A type of REDCap for texts between questions."""
CHECKBOX = "checkbox"
"""A type of REDCap with a column for each choice: `symptom___2`."""


@dataclass(frozen=True)
class Description:
    """What is said of a column.

    is_identifier: whether it is marked as an identifier of people.
    """

    text: str = ""
    is_identifier: bool = False


Entry = tuple[str, Description]
"""A column's name and description in a file."""


def csv_entries(text: str, where: str) -> list[Entry]:
    """The entries of a CSV file, whatever its separator. Headers are recognized in any case.

    Of a dictionary of REDCap, each choice of a checkbox is a column, and a validation as an address
    or a number of a person counts like a label.

    Raises:
        InputError: if no header is one of names beside one of descriptions, or the file is no CSV.
    """
    try:
        for separator in SEPARATORS:
            rows = [
                row
                for row in csv.reader(StringIO(text, newline=""), delimiter=separator)
                if any(row)
            ]
            headers = [" ".join(words_of(header)) for header in rows[0]] if rows else []
            if set(NAMES) & {*headers} and set(TEXTS) & {*headers}:
                return [entry for row in rows[1:] for entry in _row_entries(headers, row)]
    except csv.Error:
        raise InputError(f"{where}: the file is not valid CSV") from None
    raise InputError(
        f"{where}: its first line has no header of names (name, variable, column, field) beside "
        "one of descriptions (description, label, definition)"
    )


def _row_entries(headers: Sequence[str], row: Sequence[str]) -> Iterator[Entry]:
    """The entries of a row: one, none without a name, or one for each choice of a checkbox."""
    cells = dict(zip(headers, row, strict=False))
    name = _first(cells, NAMES).strip()
    kind = _first(cells, TYPES).strip().lower()
    if not name or kind == NO_COLUMN:
        return
    texts = [MARKUP.sub(" ", cells[header]) for header in TEXTS if cells.get(header)]
    validation = _first(cells, VALIDATIONS)
    concept = hint_of(validation).concept
    if concept is not None and concept.role == "direct":
        texts.insert(0, validation)
    is_identifier = _first(cells, IDENTIFIERS).strip().lower() in MARKED
    said = ". ".join(texts)
    if kind != CHECKBOX:
        yield name, Description(said, is_identifier)
        return
    for choice in _first(cells, CHOICES).split("|"):
        code, _, label = choice.partition(",")
        yield f"{name}___{_code(code)}", Description(f"{said}: {label.strip()}", is_identifier)


def _code(text: str) -> str:
    """A code of a choice in the name of its column, which has letters, digits and `_` only."""
    return re.sub("[^a-z0-9_]", "_", text.strip().lower())


def _first(cells: Mapping[str, str], headers: Sequence[str]) -> str:
    """The cell under the first of these headers that is there."""
    return next((cells[header] for header in headers if header in cells), "")
