"""What a call is given, as a run file has it: a spec, a dict or a run file; a table in memory, a path, or the spec's
own; an output.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.arrow_frames import is_frame, is_spark
from tclose_spark.io.input.table_argument import guess_format
from tclose_spark.runfile.loading import read_tree, resolve, with_overrides
from tclose_spark.runfile.registry import MethodSettings
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import FRAME, NOWHERE, Output, Privacy, ReleaseSpec

Spec = ReleaseSpec | Mapping[str, Any] | str | PathLike[str]
"""A spec, a run file as a dict, or the path of one."""

Table = Any
"""A DataFrame of Spark, pandas or polars, a pyarrow table, or the path of a table."""

Where = str | PathLike[str] | Mapping[str, Any] | Output | None
"""The folder of a release; or its `output` section."""


def in_memory(table: Table) -> bool:
    """Whether a table is no path."""
    return is_spark(table) or is_frame(table)


def tree_of(spec: Spec, overrides: Sequence[str] = ()) -> dict[str, Any]:
    """What a spec says, as a run file has it: sections may be objects. All paths are resolved, against the run file's
    folder or the working one.

    Raises:
        ConfigurationError: naming the key, what was found, and what was expected.
    """
    if isinstance(spec, ReleaseSpec):
        return _tree_of_spec(spec, overrides)
    if isinstance(spec, Mapping):
        return with_overrides(_plain(spec), Path.cwd(), overrides)
    if isinstance(spec, str | PathLike):
        return read_tree(Path(spec), overrides)
    raise ConfigurationError(f"spec is of type {type(spec).__name__}; expected a ReleaseSpec, a dict, or a run file")


def _tree_of_spec(spec: ReleaseSpec, overrides: Sequence[str]) -> dict[str, Any]:
    tree = {name: _plain(getattr(spec, name)) for name in (*spec.model_fields_set, "method")}
    return with_overrides(tree, Path.cwd(), overrides)


def _plain(part: Any) -> Any:
    """A part of a spec as a run file has it, with what was set of its sections."""
    if isinstance(part, Section):
        return {
            **part.model_dump(exclude_unset=True),
            **({"name": part.name} if isinstance(part, MethodSettings) else {}),
            **({"k": "auto"} if isinstance(part, Privacy) and part.alpha is not None else {}),
        }
    if isinstance(part, Mapping):
        return {key: _plain(value) for key, value in part.items()}
    return [_plain(value) for value in part] if isinstance(part, list | tuple) else part


def complete_tree(
    table: Table,
    spec: Spec,
    output: Where = None,
    *,
    view: str = FRAME,
    overrides: Sequence[str] = (),
    nowhere: str | None = None,
    reads: bool = True,
) -> dict[str, Any]:
    """What a run file for this table and output would say, not yet validated.

    table: None: the one that the spec names.
    view: what a table in memory is called.
    nowhere: the output where neither the call nor the spec says one.
    reads: whether the table is read; where it is not, None may stand for one in memory.

    Raises:
        ConfigurationError: saying what is missing.
    """
    tree = tree_of(spec, overrides)
    tree.setdefault("name", "release")
    if table is None and "input" not in tree and not reads:
        tree["input"] = {"path": view, "format": "table"}
    else:
        tree["input"] = _input(table, tree.get("input"), view)
    tree["output"] = _output(output, tree.get("output"), nowhere)
    return tree


def _input(table: Table, own: Any, view: str) -> Any:
    """The `input` section of a table; one that the spec has says how it is read."""
    settings = dict(own) if isinstance(own, Mapping) else {}
    if table is None:
        if own is None or str(settings.get("path")).startswith(FRAME):
            raise ConfigurationError("which table? Give a DataFrame or a path, or a spec with an input")
        return own
    kept = {key: value for key, value in settings.items() if key not in ("path", "format", "options")}
    if in_memory(table):
        return {**kept, "path": view, "format": "table"}
    if not isinstance(table, str | PathLike):
        raise ConfigurationError(
            f"the table is of type {type(table).__name__}; expected a DataFrame of Spark, pandas or polars, a pyarrow "
            "table, or a path"
        )
    return {**kept, **_at_path(fspath(table), settings)}


def _at_path(path: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Where a table is, and how it is read: a format that the spec says stands, its options go with it."""
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
    """The `output` section of a call; without one the spec's."""
    if own is not None and not isinstance(own, Mapping):
        raise ConfigurationError(
            f"output is of type {type(own).__name__}; expected a section: {{'path': 'build/people'}}"
        )
    settings = dict(own or {})
    if isinstance(output, Output):
        output = output.model_dump(exclude_unset=True)
    if isinstance(output, Mapping):
        tree = {"output": {**settings, **output}}
        return with_overrides(tree, Path.cwd())["output"]
    if output is not None:
        kept = {key: value for key, value in settings.items() if key not in ("path", "public", "internal")}
        return {**kept, "path": resolve(fspath(output), "output", Path.cwd())}
    if settings and settings.get("path") != NOWHERE:
        return settings
    if nowhere is None:
        raise ConfigurationError(
            "where does the release go? Give output='build/people': a folder, which becomes public/ (to publish) and "
            "internal/ (evidence, stays inside)"
        )
    return {**settings, "path": nowhere}
