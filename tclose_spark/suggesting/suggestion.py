"""The suggestion of a first run file, from the facts of a table."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.spec import Input
from tclose_spark.suggesting.choosing import (
    LARGEST,
    Size,
    choose_roles,
    judge_unknown,
    leave_out_revealing,
    without_copies,
)
from tclose_spark.suggesting.facts import TableFacts
from tclose_spark.suggesting.judging import suggest_role
from tclose_spark.suggesting.unique_share import changing_share, rarity, unique_shares
from tclose_spark.suggesting.writing import Draft, render_run_file, repeated

SAMPLE = 100_000


@dataclass(frozen=True, kw_only=True, repr=False)
class Suggestion(Draft):
    """The suggested roles of a table's columns, and the run file."""

    @cached_property
    def yaml(self) -> str:
        """The run file."""
        return render_run_file(self)

    @property
    def spec(self) -> dict[str, Any]:
        """The run file as a dictionary; its paths are relative to the file's folder."""
        return dict(yaml.safe_load(self.yaml))

    @property
    def roles(self) -> Mapping[str, str]:
        """The role of each column in the run file; `left out` if it is only in comments."""
        choice = self.choice
        taken = {
            "direct identifier": choice.direct,
            "quasi-identifier": choice.quasi,
            "sensitive attribute": choice.sensitive,
            "insensitive attribute": choice.insensitive,
        }
        role_of = {one.name: role for role, group in taken.items() for one in group}
        if self.weight is not None:
            role_of[self.weight.name] = "survey weight"
        role_of |= {column: role for role, column in self.owners.items()}
        return {one.name: role_of.get(one.name, "left out") for one in self.columns}

    def write(self, path: str | Path, overwrite: bool = False) -> Path:
        """Writes the run file, and returns its path.

        Raises:
            ConfigurationError: if the path is of another type, or the file exists or cannot be
                written.
        """
        if not isinstance(path, str | os.PathLike):
            raise ConfigurationError(
                f"path is of type {type(path).__name__}; expected text or a path",
            )
        file = Path(path)
        if file.exists() and not overwrite:
            raise ConfigurationError(
                f"path: {file} exists already; give another one, or overwrite=True",
            )
        try:
            file.write_text(self.yaml, encoding="utf-8")
        except OSError as error:
            raise ConfigurationError(f"{file} cannot be written ({error.strerror})") from None
        return file

    def __repr__(self) -> str:
        columns = defaultdict(list)
        for name, role in self.roles.items():
            columns[role].append(name)
        roles = [f"  {role}: {', '.join(names)}" for role, names in columns.items()]
        rest = "the run file is `.yaml`, and `.columns` has the reasons"
        return "\n".join(
            [f"{self.name}: a first run file for {self.rows:,} rows", *roles, *self.tried, rest],
        )

    def _repr_html_(self) -> str:
        """For Jupyter: the roles with their reasons, and the run file."""
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{escape(self.roles[one.name])}</td><td>{escape(one.why)}</td></tr>"
            for one in self.columns
        )
        table = (
            f"<table><tr><th>column</th><th>suggested</th><th>because of</th></tr>{rows}</table>"
        )
        return (
            f"{table}<details><summary>the run "
            f"file</summary><pre>{escape(self.yaml)}</pre></details>"
        )


def require_valid(k: int | None, t: str) -> None:
    """Raises ConfigurationError unless this k and this t are valid in a run file."""
    try:
        SensitiveAttribute.model_validate({"t": t})
    except ValidationError:
        raise ConfigurationError(f"--t {t}: expected a number from 0 to 1, or measure") from None
    if k is not None and k < 2:
        raise ConfigurationError(f"--k {k}: expected at least 2")


def require_people(gathered: TableFacts) -> None:
    """Raises InputError if rows are cells of a table of counts, which are numbers."""
    found = gathered.subjects.cells
    numbers = [one.name for one in gathered.facts if one.is_number and not one.fractions]
    if found is not None and found.count in numbers:
        raise InputError(
            f"input.path: a table of counts ({found.count!r}, by {len(found.dimensions)} columns "
            "whose combinations occur once), not of people; its small cells need a tool for "
            "tabular data, such as tau-Argus",
        )


def suggestion_from_facts(
    gathered: TableFacts,
    source: Input,
    file: Path,
    k: int | None = None,
    t: str = "0.2",
    size: Size = LARGEST,
) -> Suggestion:
    """The suggestion for a table with these facts.

    source: the table, as the run file names it. file: the run file's path. k: None for a k that
        suits the table's size.
    size: the most quasi-identifiers and sensitive attributes.

    Raises:
        InputError: if the table is one of counts, or lacks a quasi-identifier or a sensitive
            attribute.
    """
    judged = judge_unknown([suggest_role(facts) for facts in gathered.facts])
    columns = without_copies(judged, gathered.codes)
    require_people(gathered)
    choice = leave_out_revealing(choose_roles(columns, size), gathered.codes)
    sampled = max(facts.sampled for facts in gathered.facts)
    repeating = repeated(choice, exact=sampled >= gathered.rows)
    names = [one.name for one in choice.quasi]
    quasi = [gathered.codes[name] for name in names]
    return Suggestion(
        name=release_name(source),
        table=source.path if source.format == "table" else Path(source.path).name,
        file=file.name,
        source=source.model_copy(
            update={"path": path_from(source, file), "options": _read_as(source, gathered)},
        ),
        output=f"{release_name(source)}_release",
        rows=gathered.rows,
        sampled=sampled,
        columns=columns,
        choice=choice,
        alone=tuple(unique_shares(gathered.codes, names)),
        rare=rarity(gathered.codes, names),
        subjects=gathered.subjects,
        repeated=repeating,
        changing={
            one.column: changing_share(quasi, gathered.codes[one.column]) for one in repeating
        },
        k=k,
        t=t,
    )


def release_name(source: Input) -> str:
    """The name of the release: that of the table, without its ending."""
    last = source.path.rstrip("/").rpartition("/")[2]
    stem = last.rpartition(".")[2] if source.format == "table" else last.partition(".")[0]
    return "".join(c if c.isalnum() or c in "_-" else "_" for c in stem) or "table"


def path_from(source: Input, file: Path) -> str:
    """The table's path for the run file: relative if it is in the file's folder, below it, or next
    to it.
    """
    if source.format == "table" or URI.match(source.path):
        return source.path
    relative = os.path.relpath(source.path, file.parent)
    return source.path if relative.startswith("../..") else relative


def _read_as(source: Input, gathered: TableFacts) -> dict[str, str]:
    """The reader's options. Numbers of a CSV file are read as such if all rows were sampled and no
    text would change by it, such as a code with leading zeros, a date, true or false.
    """
    options = dict(source.options)
    given = {key.lower() for key in options}
    facts = gathered.facts
    same = all(not (one.coded or one.twice or one.dates or one.booleans) for one in facts)
    same = same and all(one.sampled == gathered.rows for one in facts)
    if source.format == "csv" and same and "inferschema" not in given:
        options["inferSchema"] = "true"
    return options
