"""What only the command line needs: typed text as arguments of the verbs, and helpers that are no
verb in Python. Imports only what `tclose --help` needs.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tclose_spark.auditing.options import AuditOptions, ExplainOptions, sign
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.messages import as_json, in_json, level_of
from tclose_spark.runfile.quantities import MOST_DIGITS

__all__ = [
    "MOST_DIGITS",
    "AuditOptions",
    "ExplainOptions",
    "as_json",
    "in_json",
    "level_of",
    "sign",
]


def table_arguments(typed: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `audit` and `explain` for what is typed, by the same names.

    Raises:
        ConfigurationError: naming the option that is wrong.
    """
    from tclose_spark.auditing.short_forms import parse_quasi_identifiers, parse_sensitive

    given = {**typed, "options": reader_options(typed["options"])}
    quasi, sensitive, trees = (
        typed[name] or [] for name in ("quasi_identifiers", "sensitive", "hierarchies")
    )
    if typed["spec"] is not None:  # which excludes the others
        return {**given, "hierarchies": dict.fromkeys(trees, "")}
    roles = {
        "quasi_identifiers": parse_quasi_identifiers(quasi, trees, Path.cwd()),
        "hierarchies": None,
    }
    return {**given, **roles, "sensitive": parse_sensitive(sensitive, Path.cwd())}


def reader_options(texts: list[str] | None) -> dict[str, str]:
    """The options of a reader, typed as KEY=VALUE.

    Raises:
        ConfigurationError: if one is not.
    """
    from tclose_spark.io.input.files import options_of

    return options_of(texts or ())


def after_override(output: str | None) -> list[str]:
    """The override for the release that this one continues, in an output folder; none without
    one.
    """
    from tclose_spark.runfile.loading import resolve

    return (
        [] if output is None else [f"output.after={json.dumps(resolve(output, '--after', Path()))}"]
    )


def parse_hierarchy(build: str | None, check: str | None) -> Any:
    """The hierarchy of `--build`, a form as in a run file, or of `--check`, a file; None without
    either.

    Raises:
        ConfigurationError: if both are given, or the form is not valid.
    """
    from pydantic import ValidationError

    from tclose_spark.runfile.hierarchies import HierarchyBuilder
    from tclose_spark.runfile.loading import explain_error, parse_yaml

    if build is None:
        return check
    if check is not None:
        raise ConfigurationError("--build makes a hierarchy, --check reads one; give one of them")
    tree = parse_yaml(build, "--build")
    if not isinstance(tree, dict):
        raise ConfigurationError(
            f"--build {build}: expected a form and its settings, such as 'prefix: 1'",
        )
    try:
        return HierarchyBuilder.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(f"--build {build}: {explain_error(error)}") from None


def require_new(option: str, path: Path | str | None, in_folder: bool = True) -> None:
    """Raises ConfigurationError if there is a file already, or no folder for it. in_folder: whether
    it needs one.
    """
    from tclose_spark.runfile.loading import URI

    if path is None or URI.match(str(path)):
        return
    if Path(path).exists():
        raise ConfigurationError(
            f"{option}: {path} exists already; give another path, or remove it",
        )
    if in_folder and not Path(path).resolve().parent.is_dir():
        raise ConfigurationError(f"{option}: the folder of {path} does not exist")


def compile_all(folder: Path | None, announce: Callable[[str], None]) -> tuple[int, Path]:
    """(how many kernels were compiled, where they are kept). folder: by default that of
    NUMBA_CACHE_DIR, or ~/.cache.

    Raises:
        ConfigurationError: if other users can write there.
    """
    if folder is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(folder.resolve())
    from tclose_spark.kernels.caching import cache_folder, let_all_read
    from tclose_spark.methods.compiling import compile_kernels

    if folder is not None and not cache_folder().is_relative_to(folder.resolve()):
        raise ConfigurationError(
            f"--to: {folder} is writable by other users; kernels are code, so name a folder that "
            "only you can write",
        )
    compiled = compile_kernels(announce)
    if folder is not None:
        let_all_read()
    return compiled, cache_folder()


def schema_text() -> str:
    """The JSON Schema of run files."""
    from tclose_spark.runfile import schema

    return schema.schema_text()
