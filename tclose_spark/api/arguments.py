"""The arguments of calls: a spec, a table and an output become the run file that a call
amounts to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np

from tclose_spark.api.errors import on_command_line
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.arrow_frames import is_frame, is_spark, read_once
from tclose_spark.io.input.files import check_files, guess_format
from tclose_spark.runfile.loading import (
    lines_in_errors,
    read_tree,
    resolve,
    spec_of,
    with_overrides,
)
from tclose_spark.runfile.registry import MethodSettings
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import FRAME, NOWHERE, Output, Privacy, ReleaseSpec

Spec = ReleaseSpec | Mapping[str, Any] | str | PathLike[str]
"""A spec, a run file as a dict, or the path of one."""

Table = Any
"""A DataFrame of Spark, pandas or polars, a pyarrow table, or the path of a table."""

Number = str | float
"""A number as it is written, such as "0.2" or "1/5"; or one of Python."""

Where = str | PathLike[str] | Mapping[str, Any] | Output | None
"""The folder of a release; or its `output` section."""


@dataclass(frozen=True, kw_only=True)
class GivenRun:
    """The run file of a call.

    tree: as in YAML, not validated. spec: validated.
    table: in memory, to be read as the view that `spec.input` names; None if it is at a path, or
        not read.
    """

    tree: dict[str, Any]
    spec: ReleaseSpec
    table: Table = None


def given_run(
    table: Table,
    spec: Spec,
    output: Where = None,
    overrides: Sequence[str] = (),
    *,
    nowhere: str | None = None,
    reads: bool = True,
) -> GivenRun:
    """The run file for this table and output, with all files checked that are on this machine.

    nowhere, reads: see `complete_tree`.

    Raises:
        ConfigurationError: naming the key, what was observed, and what was expected.
    """
    view = f"{FRAME}_{uuid4().hex}"
    said = tree_of(spec, overrides)
    tree = complete_tree(table, said, output, view=view, nowhere=nowhere, reads=reads)
    complete = spec_of(tree)
    with lines_in_errors(tree):
        check_files(complete, reads)
    return GivenRun(
        tree=tree,
        spec=complete,
        table=read_once(table) if reads and in_memory(table) else None,
    )


def in_memory(table: Table) -> bool:
    """Whether a table is neither a path nor missing."""
    return is_spark(table) or is_frame(table)


def path_of(table: Table) -> str:
    """The path of a table; empty for a table in memory, and for none.

    Raises:
        ConfigurationError: if it is no table.
    """
    if table is None or in_memory(table):
        return ""
    if not isinstance(table, str | PathLike):
        raise ConfigurationError(
            f"the table is of type {type(table).__name__}; expected a DataFrame of Spark, pandas "
            "or polars, a pyarrow table, or a path",
        )
    return fspath(table)


def reader_options(options: Mapping[str, object] | None) -> dict[str, str]:
    """Options as Spark's reader takes them, such as {"sep": ";", "header": True}."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in (options or {}).items()
    }


def number_of_rows(sample: Any, most: int | None = None) -> int | None:
    """The rows of a sample; None for `all`.

    Raises:
        ConfigurationError: if it is neither `all` nor a number from 1 to `most`.
    """
    if sample in ("all", None):
        return None
    if not isinstance(sample, int) or sample < 1 or (most is not None and sample > most):
        up_to = "" if most is None else f" up to {most:,}"
        raise ConfigurationError(f"--sample {sample}: expected a number of rows{up_to}, or all")
    return sample


def tree_of(spec: Spec, overrides: Sequence[str] = ()) -> dict[str, object]:
    """A spec as a run file has it; sections may be objects. Paths are resolved from the run file's
    folder, or from the working folder.

    Raises:
        ConfigurationError: naming the key, what was observed, and what was expected.
    """
    if isinstance(spec, ReleaseSpec):
        return _tree_of_spec(spec, overrides)
    if isinstance(spec, Mapping):
        return with_overrides(_plain(spec), Path.cwd(), overrides)
    if isinstance(spec, str | PathLike):
        return read_tree(Path(spec), overrides)
    raise ConfigurationError(
        f"spec is of type {type(spec).__name__}; expected a ReleaseSpec, a dict, or a run file",
    )


def _tree_of_spec(spec: ReleaseSpec, overrides: Sequence[str]) -> dict[str, object]:
    tree = {name: _plain(getattr(spec, name)) for name in (*spec.model_fields_set, "method")}
    return with_overrides(tree, Path.cwd(), overrides)


def _plain(part: Any) -> Any:
    """A part of a spec as a run file has it, with the keys of its sections that were set."""
    if isinstance(part, Section):
        return {
            **part.model_dump(exclude_unset=True),
            **({"name": part.name} if isinstance(part, MethodSettings) else {}),
            **({"k": "auto"} if isinstance(part, Privacy) and part.alpha is not None else {}),
        }
    if isinstance(part, Mapping):
        return {key: _plain(value) for key, value in part.items()}
    return [_plain(value) for value in part] if isinstance(part, list | tuple) else as_python(part)


def as_python(value: Any) -> Any:
    """A number of numpy as one of Python; everything else unchanged."""
    return value.item() if isinstance(value, np.number) else value


def complete_tree(
    table: Table,
    tree: dict[str, object],
    output: Where = None,
    *,
    view: str = FRAME,
    nowhere: str | None = None,
    reads: bool = True,
) -> dict[str, object]:
    """The run file for this table and output, not validated. On the command line a run file is
    complete by itself.

    table: None for the one that the spec names. tree: of the spec; it is changed in place, because
        that of a file knows its lines.
    view: the name of a table in memory.
    nowhere: the output if neither the call nor the spec names one.
    reads: whether the table is read. If not, the table may be None even if the release was of one
        in memory.

    Raises:
        ConfigurationError: naming what is missing.
    """
    if on_command_line():
        return tree
    tree.setdefault("name", "release")
    if table is None and "input" not in tree and not reads:
        tree["input"] = {"path": view, "format": "table"}
    else:
        tree["input"] = _input(table, tree.get("input"), view)
    tree["output"] = _output(output, tree.get("output"), nowhere)
    return tree


def _input(table: Table, own: Any, view: str) -> Any:
    """The `input` section of a table; the spec's own section sets how it is read."""
    settings = dict(own) if isinstance(own, Mapping) else {}
    if table is None:
        if own is None or str(settings.get("path")).startswith(FRAME):
            raise ConfigurationError(
                "which table? Give a DataFrame or a path, or a spec with an input",
            )
        return own
    kept = {
        key: value for key, value in settings.items() if key not in ("path", "format", "options")
    }
    if in_memory(table):
        return {**kept, "path": view, "format": "table"}
    return {**kept, **_at_path(path_of(table), settings)}


def _at_path(path: str, settings: Mapping[str, Any]) -> dict[str, object]:
    """Path, format and options of a table; format and options are those of the spec, if it
    has any.
    """
    kind = settings.get("format") or guess_format(path)
    options = dict(settings.get("options") or {})
    if kind == "csv" and not {"header", "HEADER", "Header"} & set(options):
        options["header"] = True
    return {
        "path": path if kind == "table" else resolve(path, "table", Path.cwd()),
        "format": kind,
        **({"options": options} if options else {}),
    }


def _output(output: Where, own: Any, nowhere: str | None) -> Any:
    """The `output` section of a call; by default that of the spec."""
    if own is not None and not isinstance(own, Mapping):
        raise ConfigurationError(
            f"output is of type {type(own).__name__}; expected a section: {{'path': "
            "'build/people'}",
        )
    settings = dict(own or {})
    if isinstance(output, Output):
        output = output.model_dump(exclude_unset=True)
    if isinstance(output, Mapping):
        tree: dict[str, object] = {"output": {**settings, **output}}
        return with_overrides(tree, Path.cwd())["output"]
    if output is not None:
        kept = {
            key: value
            for key, value in settings.items()
            if key not in ("path", "public", "internal")
        }
        return {**kept, "path": resolve(fspath(output), "output", Path.cwd())}
    if settings and settings.get("path") != NOWHERE:
        return settings
    if nowhere is None:
        raise ConfigurationError(
            "where does the release go? Give output='build/people': a folder, which becomes "
            "public/ (to publish) and internal/ (evidence, stays inside)",
        )
    return {**settings, "path": nowhere}
