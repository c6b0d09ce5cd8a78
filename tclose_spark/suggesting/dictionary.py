"""Descriptions of a table's columns: those of a dictionary beside the table, or the labels that its
file holds.

Dictionaries in CSV files: a row for each column of the described table, with its name and what
it means.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import StringIO
from os import PathLike
from pathlib import Path, PurePosixPath

import yaml

from tclose_spark.errors import InputError
from tclose_spark.io.input.problems import note
from tclose_spark.runfile.text import first_few
from tclose_spark.table.column_names.hints import between_commas, hint_of, words_of_name

OPTION = "--dictionary"
CSV_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
YAML_ENDINGS = (".yaml", ".yml")
ENCODINGS = ("utf-8-sig", "cp1252")
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


@dataclass(frozen=True)
class Description:
    """What is said of a column.

    is_identifier: whether it is marked as an identifier of people.
    """

    text: str = ""
    is_identifier: bool = False


Entry = tuple[str, Description]
"""A column's name and description in a file."""
NOTHING = Description()
Given = str | PathLike[str] | Mapping[str, str] | None
"""A dictionary as it is given: the path of a file, or texts by column."""


@dataclass(frozen=True)
class Dictionary:
    """Descriptions of columns.

    where: its place, as messages begin.
    of_columns: by the name of the column, in lower case and without blanks around it.
    """

    where: str = ""
    of_columns: Mapping[str, Description] = field(default_factory=dict)

    def of(self, column: str) -> Description:
        """The description of a column; empty if there is none. Names are alike in any case."""
        return self.of_columns.get(_key(column), NOTHING)

    def of_table(self, columns: Sequence[str], labels: Mapping[str, str]) -> Dictionary:
        """The dictionary for a table with these columns. It wins over the labels of their file.

        Raises:
            InputError: if it has descriptions, but none of these columns.
        """
        known = set(map(_key, columns))
        others = [name for name in self.of_columns if name not in known]
        if others and len(others) == len(self.of_columns):
            raise InputError(
                f"{self.where}: none of its {len(others)} names is one of the table's "
                f"{len(columns)} columns; give the dictionary of this table",
            )
        if others:
            note(
                f"{self.where}: {len(others)} of its {len(self.of_columns)} names are not columns "
                "of the table",
            )
        both = {_key(name): Description(label) for name, label in labels.items()}
        for name, own in self.of_columns.items():
            both[name] = (
                own
                if own.text
                else replace(both.get(name, NOTHING), is_identifier=own.is_identifier)
            )
        return Dictionary(self.where, both)


NO_DICTIONARY = Dictionary()


def read_dictionary(given: Given, table: str) -> Dictionary:
    """The dictionary in a file, or in a mapping of texts by column.

    Files are CSV, with the names of columns and their descriptions, as REDCap writes it, too; a
    data package or a table schema of Frictionless (JSON); and a data contract of the Open Data
    Contract Standard (YAML).

    table: the name of the table's file, by which one of several tables is chosen.

    Raises:
        InputError: if the file cannot be read, is none of these, describes several tables of which
            none or many have the name, or has a name twice.
    """
    if given is None:
        return NO_DICTIONARY
    if isinstance(given, Mapping):
        return _dictionary(
            "dictionary",
            [(name, Description(text)) for name, text in given.items()],
        )
    path = Path(given)
    ending = path.suffix.lower()
    where = f"{OPTION} {path}"
    if ending in CSV_ENDINGS:
        return _dictionary(where, csv_entries(_text(path, where), where))
    if ending == ".json" or ending in YAML_ENDINGS:
        tree = _tree(_text(path, where), where, ending)
        return _dictionary(where, _entries_of_tree(tree, table, where))
    raise InputError(f"{where}: expected a file called .csv, .json or .yaml")


def _key(name: str) -> str:
    return name.strip().lower()


def _dictionary(where: str, entries: Iterable[Entry]) -> Dictionary:
    """The dictionary with these entries. Raises InputError if there is none, or a name is there
    twice.
    """
    found: dict[str, Description] = {}
    twice = 0
    for name, description in entries:
        key = _key(name)
        twice += key in found
        found[key] = description
    if twice:
        raise InputError(
            f"{where}: {twice} of its {len(found) + twice} names repeat another one, in any letter "
            "case; give each column one description",
        )
    if not found:
        raise InputError(f"{where}: it describes no column")
    return Dictionary(where, found)


def _text(path: Path, where: str) -> str:
    """The content of a file. Raises InputError if it cannot be read, or is no text."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{where}: the file cannot be read ({error.strerror})") from None
    for encoding in ("utf-16",) if content.startswith(UTF_16) else ENCODINGS:
        try:
            text = content.decode(encoding)
        except UnicodeDecodeError:
            continue
        if "\0" not in text:
            return text
    raise InputError(f"{where}: the file is no text; expected CSV, JSON or YAML")


def _tree(text: str, where: str, ending: str) -> Mapping[str, object]:
    """The content of a file of JSON or YAML, with its numbers and dates as texts. Raises InputError
    if it is none.
    """
    kind = "JSON" if ending == ".json" else "YAML"
    try:
        tree = (
            json.loads(text, parse_int=str)
            if kind == "JSON"
            else yaml.BaseLoader(text).get_single_data()
        )
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}"
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f"line {mark.line + 1}" if mark else "it"
    else:
        return tree if isinstance(tree, Mapping) else {}
    raise InputError(f"{where}: {place} is not valid {kind}")


def _entries_of_tree(tree: Mapping[str, object], table: str, where: str) -> Iterator[Entry]:
    """The columns of a table in a data package, a table schema or a data contract."""
    tables = _mappings(tree.get("resources"))  # a data package
    columns_of = _fields
    if not tables and isinstance(tree.get("schema"), list):  # a data contract
        tables = _mappings(tree["schema"])
        columns_of = _properties
    elif not tables and (
        "fields" in tree or "schema" in tree
    ):  # a table schema, or a resource with one
        tables = [tree if "schema" in tree else {"schema": tree}]
    if not tables:
        raise InputError(
            f"{where}: expected a data package (resources), a table schema (fields) or a data "
            "contract (schema)",
        )
    return columns_of(_chosen(tables, table, where), where)


def _chosen(tables: Sequence[Mapping[str, object]], table: str, where: str) -> Mapping[str, object]:
    """The only table, or the one that is called like the file of the table."""
    if len(tables) == 1:
        return tables[0]
    wanted = _forms(table)
    called = [one for one in tables if wanted & set().union(*map(_forms, _names(one)))]
    if len(called) != 1:
        names = [next(iter(_names(one)), "(no name)") for one in tables]
        raise InputError(
            f"{where}: {len(called) or 'none'} of its {len(tables)} tables "
            f"({first_few(names)}) {'are' if called else 'is'} called {table}; "
            "expected one, or a dictionary of one table",
        )
    return called[0]


def _names(table: Mapping[str, object]) -> list[str]:
    """What a table is called, and its files."""
    named = [table.get(key) for key in ("name", "physicalName", "path")]
    listed = [part for one in named for part in (one if isinstance(one, list) else [one])]
    return [name for name in listed if isinstance(name, str) and name]


def _forms(name: str) -> set[str]:
    """The last part of a path in lower case, with its ending and without."""
    last = PurePosixPath(name.replace("\\", "/")).name.lower()
    return {last, last.partition(".")[0]}


def _fields(table: Mapping[str, object], where: str) -> Iterator[Entry]:
    """The fields of a table schema of Frictionless."""
    schema = table.get("schema")
    if isinstance(schema, str):
        raise InputError(f"{where}: the schema is in another file, {schema}; give that file")
    fields = schema.get("fields") if isinstance(schema, Mapping) else None
    for one in _mappings(fields):
        yield from _entry(one, ("title", "description"))


def _properties(table: Mapping[str, object], where: str) -> Iterator[Entry]:
    """The properties of an object in a data contract. A classification can call one an
    identifier.
    """
    for one in _mappings(table.get("properties")):
        is_identifier = "identifier" in str(one.get("classification", "")).lower()
        yield from _entry(one, ("businessName", "description"), is_identifier)


def _entry(
    one: Mapping[str, object],
    keys: Sequence[str],
    is_identifier: bool = False,
) -> Iterator[Entry]:
    name = one.get("name")
    if isinstance(name, str) and name.strip():
        texts = [text for key in keys if isinstance(text := one.get(key), str)]
        yield name, Description(". ".join(texts), is_identifier)


def _mappings(value: object) -> list[Mapping[str, object]]:
    return [one for one in value if isinstance(one, Mapping)] if isinstance(value, list) else []


SEPARATORS = (",", ";", "\t", "|")
NAMES = between_commas("""
    variable field name, variable name, variable, column name, column, field name, field, varname,
    var, attribute, attribute name, feature, spalte, feld, merkmal, variablenname, feldname, champ,
    colonne, campo, columna, colonna, variabele, kolom, veld, name, nom, nombre
""")
"""What headers call the name of a column, the surest first, in the words of `words_of_name`."""
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
            headers = [" ".join(words_of_name(header)) for header in rows[0]] if rows else []
            if set(NAMES) & {*headers} and set(TEXTS) & {*headers}:
                return [entry for row in rows[1:] for entry in _row_entries(headers, row)]
    except csv.Error:
        raise InputError(f"{where}: the file is not valid CSV") from None
    raise InputError(
        f"{where}: its first line has no header of names (name, variable, column, field) beside "
        "one of descriptions (description, label, definition)",
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
