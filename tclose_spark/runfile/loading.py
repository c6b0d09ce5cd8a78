"""From YAML to a ReleaseSpec. Every error names the key, what was found and what was expected."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from yaml.constructor import ConstructorError
from yaml.error import Mark

from tclose_spark.errors import ConfigurationError, TcloseError
from tclose_spark.runfile.problems import Lines, explain_problems
from tclose_spark.runfile.registry import DEFAULT, known_methods
from tclose_spark.runfile.section import known_keys
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.runfile.text import meant_file

URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")
# Of a run file; a call from Python may give them apart from the spec.
REQUIRED = ("name", "input", "output")
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")


MOST_NODES = 100_000
"""The most nodes of a YAML text, with aliases expanded: a few lines of aliases can exceed any
memory.
"""
SURROGATE = re.compile("[\ud800-\udfff]")
MERGE = "tag:yaml.org,2002:merge"


class _Loader(yaml.SafeLoader):
    """Safe YAML that keeps the digits of decimal numbers and rejects duplicate keys."""


def _decimal(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Decimal | float:
    text = node.value.replace("_", "")
    return (
        float(loader.construct_yaml_float(node))
        if set(text.lower()) & set(":infa") - {"e"}
        else Decimal(text)
    )


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys: list[tuple[Any, Mark]] = []
    for part, _ in node.value:
        if part.tag != MERGE:
            key = loader.construct_object(part, deep=True)
            for known, mark in keys:
                if key == known:
                    said = f"key {key!r} is given twice, first in line {mark.line + 1}"
                    raise ConstructorError(None, None, said, part.start_mark)
            keys.append((key, part.start_mark))
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:float", _decimal)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def parse_yaml(text: str, where: str) -> Any:
    """The content of a YAML text. Decimals keep their digits. where: the beginning of errors."""
    try:
        if _nodes(yaml.compose(text, Loader=_Loader), {}) > MOST_NODES:
            raise ConfigurationError(
                f"{where}: too long: it has more than {MOST_NODES:,} entries, aliases written out",
            )
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except RecursionError:
        raise ConfigurationError(f"{where}: not valid YAML: nested too deeply") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = str(getattr(error, "problem", error))
        if r"'\t'" in problem:
            problem = "found a tab where a line begins or a value is expected; use blanks"
        raise ConfigurationError(f"{where}{place}: not valid YAML: {problem}") from None
    except (ValueError, TypeError, ArithmeticError) as error:  # an invalid date, a list as a key
        raise ConfigurationError(f"{where}: not valid YAML: {error}") from None


def _nodes(node: yaml.Node | None, known: dict[int, int]) -> int:
    """The number of nodes in a tree, with aliases counted each time; MOST_NODES for a tree that
    contains itself.
    """
    if not isinstance(node, yaml.CollectionNode):
        if SURROGATE.search(getattr(node, "value", "")):
            raise ValueError("a text has half of a character (a lone surrogate)")
        return 1
    if id(node) not in known:
        known[id(node)] = MOST_NODES
        parts = (
            node.value
            if isinstance(node, yaml.SequenceNode)
            else [part for pair in node.value for part in pair]
        )
        known[id(node)] = 1 + sum(_nodes(part, known) for part in parts)
    return known[id(node)]


def expand(text: str, key: str) -> str:
    """`text` with ${NAME} and ${NAME:-default} replaced from the environment.

    Raises:
        ConfigurationError: if a variable without a default is not set.
    """

    def value(match: re.Match[str]) -> str:
        replacement = os.environ.get(match[1]) or match[2]
        if replacement is None:
            raise ConfigurationError(
                f"{key}: the environment variable {match[1]} is not set or empty; set it, or write "
                f"${{{match[1]}:-default}}",
            )
        return replacement

    return VARIABLE.sub(value, text)


def resolve(text: str, key: str, folder: Path) -> str:
    """A path of the run file: variables expanded, relative to the file's folder. A URI stays
    unchanged.

    Raises:
        ConfigurationError: if it is empty, no file can have it, or a variable without a default is
            not set.
    """
    text = expand(text, key)
    if not text.strip():
        raise ConfigurationError(f"{key}: the path is empty; expected a file or folder")
    if URI.match(text):
        return text
    try:
        return os.path.realpath(folder / text)  # `Path.resolve` fails on links in a circle
    except ValueError:
        raise ConfigurationError(
            f"{key}: the path has NUL, or half of a character (a lone surrogate); expected a name "
            "that a file can have",
        ) from None


def _resolve_paths(tree: dict[str, object], folder: Path) -> None:
    """Resolves every path in a raw run file, in place. Values of an unexpected shape are left to
    validation.

    Raises:
        ConfigurationError: with every variable that is not set.
    """
    problems: list[str] = []

    def at(section: Any, names: Sequence[str], key: str, of: Callable[[str, str], str]) -> None:
        for name in names:
            if isinstance(section, dict) and isinstance(section.get(name), str):
                try:
                    section[name] = of(section[name], f"{key}.{name}")
                except ConfigurationError as error:
                    problems.append(str(error))

    def path(text: str, key: str) -> str:
        return resolve(text, key, folder)

    source = tree.get("input")
    is_table = isinstance(source, dict) and source.get("format") == "table"
    at(source, ["path"], "input", expand if is_table else path)
    at(
        tree.get("output"),
        ["path", "public", "internal", "after", "previous_release"],
        "output",
        path,
    )
    privacy = tree.get("privacy")
    population = privacy.get("population") if isinstance(privacy, dict) else None
    is_table = isinstance(population, dict) and population.get("format") == "table"
    at(population, ["table"], "privacy.population", expand if is_table else path)
    attributes = tree.get("attributes")
    for role in ("quasi_identifiers", "sensitive_attributes"):
        columns = attributes.get(role) if isinstance(attributes, dict) else None
        for column, settings in columns.items() if isinstance(columns, dict) else ():
            at(settings, ["hierarchy"], f"attributes.{role}.{column}", path)
    privacy = tree.get("privacy")
    profile = privacy.get("profile") if isinstance(privacy, dict) else None
    tables = profile.get("populations") if isinstance(profile, dict) else None
    at(
        tables,
        list(tables) if isinstance(tables, dict) else [],
        "privacy.profile.populations",
        path,
    )
    if problems:
        raise ConfigurationError("\n".join(problems))


def _override(tree: dict[str, object], assignment: str) -> None:
    """Applies one `--set key.path=value` in place. The value is YAML. The longest matching key
    wins, so column names may have dots.
    """
    path, separator, text = assignment.partition("=")
    if not separator or not path:
        raise ConfigurationError(f"--set {assignment}: expected key.path=value")
    section: Any = tree
    steps = path.split(".")
    while True:
        if not isinstance(section, dict):
            raise ConfigurationError(
                f"--set {assignment}: {path!r} leads into {section!r}, which has no keys",
            )
        known = [n for n in range(len(steps), 0, -1) if ".".join(steps[:n]) in section]
        head = ".".join(steps[: known[0] if known else 1])
        steps = steps[known[0] if known else 1 :]
        if not steps:
            section[head] = parse_yaml(text, f"--set {path}")
            return
        if section.get(head) is None:
            section[head] = {}
        section = section[head]


def explain_error(error: ValidationError, method: str | None = None) -> str:
    """A line per problem: the key, what was found, what was expected. method: the method that the
    run file names.
    """
    known_methods()  # so that the keys of their settings are known
    return explain_problems(error, known_keys(), method)


class RunFile(dict[str, object]):
    """The content of a run file, not yet validated, with the lines of its keys."""

    lines = Lines()


def read_tree(path: Path, overrides: Sequence[str] = ()) -> RunFile:
    """The content of a run file, not yet validated, with `key.path=value` overrides applied and all
    paths resolved.

    Raises:
        ConfigurationError: naming the line, the key, what was found, and what was expected.
    """
    text = _read_text(path)
    said = parse_yaml(text, str(path))
    if not isinstance(said, dict):
        raise ConfigurationError(
            f"{path}: expected keys such as input, output, attributes and privacy; see conf/ for "
            "examples",
        )
    tree = RunFile(said)
    tree.lines = Lines.read(text, str(path)).without(overrides)
    with lines_in_errors(tree):
        # Of a link: Yarn brings files by links.
        with_overrides(tree, Path(os.path.abspath(path)).parent, overrides)
    return tree


def _read_text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        if URI.match(str(path)):
            raise ConfigurationError(
                f"the run file {path} is a URI; expected a path (input, output and hierarchies may "
                "be URIs)",
            ) from None
        question = "" if path.exists() else meant_file(str(path))
        raise ConfigurationError(
            f"the run file {path} cannot be read: {error.strerror}{question}",
        ) from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"the run file {path} is no text in UTF-8") from None


@contextmanager
def lines_in_errors(tree: dict[str, object]) -> Iterator[None]:
    """Adds file and line to errors of the body that begin with a key of the run file."""
    try:
        yield
    except TcloseError as error:
        if isinstance(tree, RunFile):
            error.reword(tree.lines.with_lines)
        raise


def with_overrides(
    tree: dict[str, object],
    folder: Path,
    overrides: Sequence[str] = (),
) -> dict[str, object]:
    """A raw run file, changed in place: `key.path=value` overrides are applied, and paths are
    resolved against a folder.

    Raises:
        ConfigurationError: if an override is malformed, or a variable of a path is not set.
    """
    if isinstance(overrides, str):
        raise ConfigurationError(f"overrides is a text; expected a list, such as [{overrides!r}]")
    for assignment in overrides:
        _override(tree, assignment)
    _resolve_paths(tree, folder)
    return tree


def spec_of(tree: dict[str, object]) -> ReleaseSpec:
    """The spec of what `read_tree` read.

    Raises:
        ConfigurationError: with every key that is wrong: its line, what was found, and what was
            expected.
    """
    missing = [f"{key}: missing; this key is required" for key in REQUIRED if key not in tree]
    try:
        spec = ReleaseSpec.model_validate(dict(tree))
    except ValidationError as error:
        method = tree.get("method")
        named = method.get("name", DEFAULT) if isinstance(method, dict) else None
        with lines_in_errors(tree):
            raise ConfigurationError("\n".join([*missing, explain_error(error, named)])) from None
    if missing:
        raise ConfigurationError("\n".join(missing))
    return spec


def load_spec(path: Path, overrides: Sequence[str] = ()) -> ReleaseSpec:
    """The spec in a run file, with `key.path=value` overrides applied and all paths resolved.

    Raises:
        ConfigurationError: with every key that is wrong: its line, what was found, and what was
            expected.
    """
    return spec_of(read_tree(path, overrides))
