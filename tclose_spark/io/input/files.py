"""What a run file names on this machine's disks and is not there, or is no hierarchy: told before anything starts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.loading import URI
from tclose_spark.runfile.spec import Input, ReleaseSpec
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

LARGEST = 4 << 20  # bytes of a hierarchy that is read twice
PATTERN = set("*?[]{}")  # in a path that stands for several


def check_files(spec: ReleaseSpec, reads_input: bool) -> None:
    """Raises ConfigurationError with every hierarchy that cannot be read or is no tree, and the input if it is read and
    is not there. What lies behind a URI or in the catalog is left to Spark.
    """
    problems = [*_hierarchy_problems(spec)]
    if reads_input and is_missing(spec.input):
        problems.insert(0, f"input.path: {spec.input.path} does not exist")
    if problems:
        raise ConfigurationError("\n".join(problems))


def is_missing(source: Input) -> bool:
    """Whether a table is to be on this machine's disks, and is not there."""
    local = source.format != "table" and not URI.match(source.path) and not PATTERN & set(source.path)
    return local and not Path(source.path).exists()


def _hierarchy_problems(spec: ReleaseSpec) -> Iterator[str]:
    for role in ("quasi_identifiers", "sensitive_attributes"):
        for name, settings in getattr(spec.attributes, role).items():
            path = settings.hierarchy
            if isinstance(path, str) and not URI.match(path):
                yield from hierarchy_problem(Path(path), f"attributes.{role}.{name}.hierarchy")


def hierarchy_problem(path: Path, key: str) -> Iterator[str]:
    """What is wrong with the hierarchy in a file, if anything; `key` begins it."""
    try:
        if path.stat().st_size <= LARGEST:
            Hierarchy.parse(path.read_text(encoding="utf-8"), key)
    except ConfigurationError as error:
        yield str(error)
    except (OSError, UnicodeDecodeError) as error:
        yield f"{key}: {path} cannot be read ({getattr(error, 'strerror', None) or 'missing, or not UTF-8'})"
