"""One hostile input: the files of a run, and what `tclose release` must do with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
from conftest import write_run_file

RAW = "CANARY-7f3"  # a person's value: no message may hold it
ROWS = 24
AGES = [20 + i % 9 for i in range(ROWS)]
PEOPLE: dict[str, Any] = {
    "name": [f"{RAW} {i}" for i in range(ROWS)],
    "age": AGES,
    "sex": ["f", "m"] * (ROWS // 2),
    "disease": ["flu", "flu", "gout"] * (ROWS // 3),
}
ROLES: dict[str, Any] = {
    "direct_identifiers": ["name"],
    "quasi": {"age": {"type": "numeric"}, "sex": {}},
}


def csv_of(columns: Mapping[str, Any] = PEOPLE, sep: str = ",", end: str = "\n") -> str:
    """The table as CSV."""
    rows = [list(columns), *zip(*columns.values(), strict=True)]
    return "".join(sep.join(str(value) for value in row) + end for row in rows)


@dataclass(frozen=True)
class Case:
    """code: the exit code. says: parts of the error; of a release that succeeds, nothing is
    required to be said.

    table: columns that differ from PEOPLE, or None if `files` hold the input.
    files: by name their bytes, or a function that makes them in the folder.
    roles: settings of the run file that differ.
    change: the text of the run file from the one that these settings give.
    sets: of the command line.
    """

    code: int
    says: tuple[str, ...] = ()
    table: Mapping[str, Any] | pa.Table | None = field(default_factory=dict)
    files: Mapping[str, bytes | Callable[[Path], object]] = field(default_factory=dict)
    roles: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[str], str | bytes] | None = None
    sets: tuple[str, ...] = ()

    def write(self, folder: Path) -> Path:
        """Writes the files into a folder; returns the path of the run file."""
        table = {**PEOPLE, **self.table} if isinstance(self.table, dict) else self.table
        path = write_run_file(folder, table, **{**ROLES, **self.roles})
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
            else:
                content(folder / name)
        if self.change is not None:
            text = self.change(path.read_text())
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path


def csv_case(code: int, content: str | bytes, *says: str, **options: Any) -> Case:
    """A CSV file with a header, and these options of the input."""
    content = content if isinstance(content, bytes) else content.encode()
    source = {"path": "people.csv", "format": "csv", "options": {"header": "true", **options}}
    return Case(code, says, table=None, files={"people.csv": content}, roles={"source": source})
