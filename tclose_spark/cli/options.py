"""Options that several commands have, and what is typed as arguments of `api/`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.quantities import MOST_DIGITS

Config = Annotated[Path, typer.Argument(help="The run file (YAML).", show_default=False)]
Overrides = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY.PATH=VALUE", help="Override a key of the run file.")
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="local (this process), spark, or auto; by default TCLOSE_ENGINE, or the run file's.",
    ),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace a finished output once the new one is verified.")]
Quasi = Annotated[
    list[str] | None,
    typer.Option("--quasi-identifiers", "-q", metavar="A,B,..", help="Columns that may identify a person."),
]
Sensitive = Annotated[
    list[str] | None,
    typer.Option(
        "--sensitive",
        "-s",
        metavar="COLUMN:DISTANCE:SETTINGS",
        help="Such as disease:equal or salary:ordered:t=0.1,l=3. May be repeated.",
    ),
]
Hierarchies = Annotated[
    list[str] | None,
    typer.Option("--hierarchy", metavar="COLUMN=FILE", help="The hierarchy of a quasi-identifier. May be repeated."),
]
RunFile = Annotated[
    Path | None, typer.Option("--config", help="Take the columns from this run file instead of options.")
]
Closeness = Annotated[str | None, typer.Option("--t", help="The t of sensitive attributes without their own.")]
Format = Annotated[
    str | None,
    typer.Option("--format", help="csv, parquet, delta, table, excel, stata, spss, sas, jsonl, feather or orc."),
]
ReaderOptions = Annotated[
    list[str] | None,
    typer.Option("--option", metavar="KEY=VALUE", help="For Spark's reader, such as sep=;. May be repeated."),
]
Reference = Annotated[
    str | None,
    typer.Option("--reference", metavar="TABLE", help="Compare classes with this table, such as a census."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
AsPage = Annotated[
    str | None, typer.Option("--html", metavar="FILE", help="Also write a page: one self-contained file.")
]
TableName = Annotated[
    str, typer.Argument(metavar="TABLE", help="CSV, Parquet, Delta, or a catalog table.", show_default=False)
]


def described_columns(
    quasi: Sequence[str] | None, sensitive: Sequence[str] | None, trees: Sequence[str] | None, config: Path | None
) -> dict[str, Any]:
    """The arguments of `audit` and `explain` that describe the columns.

    Raises:
        ConfigurationError: naming the option that is wrong.
    """
    if config is not None:  # which excludes the others
        return {"spec": config, "quasi_identifiers": quasi, "sensitive": sensitive, "hierarchies": trees}
    from tclose_spark.auditing.question import parse_quasi_identifiers, parse_sensitive

    folder = Path.cwd()
    return {
        "quasi_identifiers": parse_quasi_identifiers(quasi or [], trees or [], folder),
        "sensitive": parse_sensitive(sensitive or [], folder),
    }


def parse_labels(texts: Sequence[str]) -> dict[str, str | None]:
    """Labels of a class by column, from `age=[20, 29]`; without a label it is missing."""
    labels: dict[str, str | None] = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if not equals:
            raise ConfigurationError(f"--class {text}: expected QUASI_IDENTIFIER=LABEL, such as --class 'age=[20, 29]'")
        labels[name] = label or None
    return labels


def parse_list(text: str | None, option: str) -> list[str] | None:
    """The parts of a list such as `a,b,c`.

    >>> parse_list("a, b", "--k")
    ['a', 'b']
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ConfigurationError(f"{option} {text!r}: expected a list such as a,b,c")
    return parts


def parse_number(text: str) -> Any:
    """A whole number of up to MOST_DIGITS digits if it is one; other text is left to whoever expects a number."""
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else text


def parse_numbers(text: str | None, option: str) -> list[Any] | None:
    """The whole numbers of a list such as `2,5,10`."""
    parts = parse_list(text, option)
    return None if parts is None else [parse_number(part) for part in parts]


def parse_methods(text: str) -> list[dict[str, Any]]:
    """The `method` sections of a list such as `t_mondrian,sabre:bounds=proven`.

    >>> parse_methods("t_mondrian,sabre:bounds=proven")
    [{'name': 't_mondrian'}, {'name': 'sabre', 'bounds': 'proven'}]

    Raises:
        ConfigurationError: if what follows a name is not a setting.
    """
    sections = []
    for part in parse_list(text, "--methods") or ():
        name, *settings = part.split(":")
        sections.append({"name": name, **dict(_setting(part, setting) for setting in settings)})
    return sections


def _setting(part: str, setting: str) -> tuple[str, Any]:
    import yaml

    key, equals, value = setting.partition("=")
    if not equals or not key.strip() or key.strip() == "name":
        raise ConfigurationError(
            f"--methods {part}: expected NAME, or NAME:KEY=VALUE with keys of the method's section of the run file"
        )
    try:
        return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigurationError(f"--methods {part}: {value!r} is not valid YAML") from None


def parse_hierarchy(build: str | None, check: str | None) -> Any:
    """The hierarchy of `--build`, a form as in a run file, or of `--check`, a file; None without either.

    Raises:
        ConfigurationError: if both are given, or the form is not valid.
    """
    from pydantic import ValidationError

    from tclose_spark.runfile.hierarchies import HierarchyBuilder
    from tclose_spark.runfile.loading import explain, parse_yaml

    if build is None:
        return check
    if check is not None:
        raise ConfigurationError("--build makes a hierarchy, --check reads one; give one of them")
    tree = parse_yaml(build, "--build")
    if not isinstance(tree, dict):
        raise ConfigurationError(f"--build {build}: expected a form and its settings, such as 'prefix: 1'")
    try:
        return HierarchyBuilder.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(f"--build {build}: {explain(error)}") from None


def require_new(option: str, path: Path | str | None, in_folder: bool = True) -> None:
    """Raises ConfigurationError if there is a file already, or no folder for it. in_folder: whether it needs one."""
    from tclose_spark.runfile.loading import URI

    if path is None or URI.match(str(path)):
        return
    if Path(path).exists():
        raise ConfigurationError(f"{option}: {path} exists already; give another path, or remove it")
    if in_folder and not Path(path).resolve().parent.is_dir():
        raise ConfigurationError(f"{option}: the folder of {path} does not exist")


@contextmanager
def writing(option: str, path: Path | str) -> Iterator[None]:
    """Errors of the file system in the body become a ConfigurationError that names the option and the path."""
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"{option}: {path} cannot be written ({error.strerror})") from None


def write_private(option: str, path: Path | str, text: str) -> None:
    """Writes a new file that only its owner can read: it may show values of people."""
    with (
        writing(option, path),
        open(path, "x", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file,
    ):
        file.write(text)
