"""The files that a run file or a command line names: checks them before Spark starts, reads
hierarchies and tables of populations, and finds the place and format of a table. Imports no Spark.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.states import PATTERN
from tclose_spark.io.tables.delta_log import LOGS
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.formats import Format, format_of_name, known_options
from tclose_spark.runfile.loading import URI, resolve
from tclose_spark.runfile.profiles.settings import PrivacyProfile, parse_populations
from tclose_spark.runfile.spec import Input, ReleaseSpec
from tclose_spark.runfile.text import meant_file
from tclose_spark.table.hierarchies.building import with_missing
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from tclose_spark.io.local_session import LocalSession

LARGEST = 4 << 20  # bytes of a hierarchy that is read twice


def check_files(spec: ReleaseSpec, reads_input: bool) -> None:
    """Raises ConfigurationError with every hierarchy file that is unreadable or not a tree, every
    table of populations that is wrong, a missing table of the population, and with the input if it
    is to be read and missing. Spark checks URIs and catalog tables.
    """
    problems = [*_hierarchy_problems(spec), *_population_problems(spec)]
    if reads_input and is_missing(spec.input):
        problems.insert(
            0,
            f"input.path: {spec.input.path} does not exist{meant_file(spec.input.path)}",
        )
    population = spec.privacy.population
    place = None if population is None or population.format == "table" else population.table
    if place is not None and is_missing(Input(path=place)):
        problems.append(f"privacy.population.table: {place} does not exist{meant_file(place)}")
    if problems:
        raise ConfigurationError("\n".join(problems))


def is_missing(source: Input) -> bool:
    """Whether a local table is missing."""
    local = (
        source.format != "table" and not URI.match(source.path) and not PATTERN & set(source.path)
    )
    return local and not Path(source.path).exists()


def _hierarchy_problems(spec: ReleaseSpec) -> Iterator[str]:
    for role in ("quasi_identifiers", "sensitive_attributes"):
        for name, settings in getattr(spec.attributes, role).items():
            path = settings.hierarchy
            if isinstance(path, str) and not URI.match(path):
                yield from hierarchy_problem(Path(path), f"attributes.{role}.{name}.hierarchy")


def _population_problems(spec: ReleaseSpec) -> Iterator[str]:
    try:
        read_populations(spec.privacy.profile, None)
    except ConfigurationError as error:
        yield str(error)


def read_populations(
    profile: PrivacyProfile | None,
    session: SparkSession | LocalSession | None,
) -> dict[str, dict[str, int]]:
    """The people of each area, by column with a table of populations. Without a session, tables
    behind URIs are left out.

    Raises:
        ConfigurationError: if a table cannot be read or is wrong.
    """
    tables = {}
    for column, path in () if profile is None else profile.populations.items():
        key = f"privacy.profile.populations.{column}"
        if profile is not None and not (session is None and URI.match(path)):
            tables[column] = parse_populations(_read_text(path, key, session), key, profile.name)
    return tables


def hierarchy_problem(path: Path, key: str) -> Iterator[str]:
    """The problem of a hierarchy file, beginning with `key`; None if it is valid."""
    try:
        if path.stat().st_size <= LARGEST:
            Hierarchy.parse(path.read_text(encoding="utf-8"), key)
    except ConfigurationError as error:
        yield str(error)
    except (OSError, UnicodeDecodeError) as error:
        yield (
            f"{key}: {path} cannot be read "
            f"({getattr(error, 'strerror', None) or 'missing, or not UTF-8'})"
        )


def read_hierarchies(
    quasi: Mapping[str, QuasiIdentifier],
    sensitive: Mapping[str, SensitiveAttribute],
    session: SparkSession | LocalSession,
    where: str = "",
) -> dict[str, Hierarchy]:
    """The hierarchies of the columns with a hierarchy file, by column. where: the beginning of keys
    in errors.

    The hierarchy of a sensitive attribute with `missing: leaf` has that leaf.

    Raises:
        ConfigurationError: with every file that cannot be read or is not a tree.
    """
    hierarchies = {}
    problems = []
    for role, columns in (("quasi_identifiers", quasi), ("sensitive_attributes", sensitive)):
        for name, settings in columns.items():
            if isinstance(settings.hierarchy, str):
                key = f"{where}{role}.{name}.hierarchy"
                try:
                    tree = Hierarchy.parse(_read_text(settings.hierarchy, key, session), key)
                    hierarchies[name] = with_missing(tree, settings, key)
                except ConfigurationError as error:
                    problems.append(str(error))
    if problems:
        raise ConfigurationError("\n".join(problems))
    return hierarchies


def _read_text(path: str, key: str, session: SparkSession | LocalSession | None) -> str:
    from tclose_spark.io.storage.folders import open_folder

    folder, _, name = path.rpartition("/")
    try:
        if session is not None and URI.match(path):
            return open_folder(folder, session).read(name)
        return Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"{key}: {path} cannot be read "
            f"({getattr(error, 'strerror', None) or 'missing, or not UTF-8'})",
        ) from None


FORMATS = get_args(Format)


def source_of(path: str, format: str | None, options: Mapping[str, str]) -> Input:
    """The table at a path. Its format follows from the path unless it is given. CSV has a header
    unless an option denies it.

    Raises:
        ConfigurationError: naming the wrong option, or an option that the format does not have.
        InputError: if it does not exist.
    """
    kind: Any = format or guess_format(path)
    if kind not in FORMATS:
        raise ConfigurationError(f"--format {kind}: expected {', '.join(FORMATS)}")
    try:
        known = known_options(kind, options)
    except ValueError as error:
        raise ConfigurationError(f"--option {error}") from None
    given = {"header": "true", **known} if kind == "csv" else known
    source = Input(
        path=path if kind == "table" else resolve(path, "TABLE", Path.cwd()),
        format=kind,
        options=given,
    )
    if is_missing(source):
        raise unread(InputError(f"{source.path} does not exist{meant_file(source.path)}"), source)
    return source


def options_of(texts: Sequence[str]) -> dict[str, str]:
    """The options of a reader, typed as KEY=VALUE.

    Raises:
        ConfigurationError: if one is not.
    """
    return dict(map(_option, texts))


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise ConfigurationError(
            f"--option {text}: expected KEY=VALUE for Spark's reader, such as sep=;",
        )
    return key, value


def guess_format(path: str) -> str:
    """What a table is by its path: by its ending, delta by its log; else csv if it is a file,
    parquet if a folder, and else the name of a table in the catalog.

    >>> guess_format("people.CSV"), guess_format("s3://bucket/people"), guess_format("census.people")
    ('csv', 'delta', 'table')
    """
    if kind := format_of_name(path):
        return kind
    if (Path(path) / LOGS).is_dir():
        return "delta"
    if Path(path).is_dir():
        return "csv" if any(Path(path).glob("*.csv")) else "parquet"
    if Path(path).is_file():
        return "csv"
    return "delta" if "/" in path else "table"


@contextmanager
def as_typed() -> Iterator[None]:
    """Replaces keys of a run file in errors by the typed options."""
    try:
        yield
    except InputError as error:
        text = (
            str(error)
            .removeprefix("input.path: ")
            .replace("input.format: ", "--format ")
            .replace("input.format", "--format")
            .replace("input.options (", "--option (")
        )
        text = re.sub(
            r"input\.options\.(\w+)(: )?",
            lambda key: f"--option {key[1]}{'=' if key[2] else ''}",
            text,
        )
        error.args = (
            re.sub(r"\.missing: (lowest|leaf).*", r"\g<0> (with --sensitive: missing=\1)", text),
        )
        raise


def unread(error: InputError, source: Input) -> InputError:
    """The error of a table that could not be read, with its assumed format."""
    hint = (
        " (neither a file nor a table of the catalog)"
        if source.format == "table"
        else f" (read as {source.format}; --format says another)"
    )
    return InputError(str(error) + hint)
