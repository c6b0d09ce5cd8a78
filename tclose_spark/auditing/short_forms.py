"""The short forms in which the command line and Python may write parts of an audit's question."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, ValidationError

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.files import guess_format
from tclose_spark.runfile.loading import resolve
from tclose_spark.runfile.privacy import Population
from tclose_spark.runfile.quantities import LARGEST_COUNT

KNOWN_SETTINGS = (
    "t=0.1, l=3, entropy=2.5, recursive=3:2 (c:l), frequency=3, beta=2, order=frequency or "
    "order=low|mid|high, equal_width=10 or step=1, missing=lowest (or highest, leaf), "
    "hierarchy=FILE"
)
DISTANCE = re.compile(r":((?:equal|ordered|hierarchical)(?::.*)?)$", re.DOTALL)


def parse_household(said: Any) -> Any:
    """The settings of `COLUMN` or `COLUMN:K`.

    >>> parse_household("hh:3"), parse_household("hh")
    ({'column': 'hh', 'k': 3}, {'column': 'hh'})
    """
    if not isinstance(said, str):
        return said
    column, _, k = said.rpartition(":")
    return {"column": column, "k": int(k)} if column and k.isdigit() else {"column": said}


def parse_person(said: Any) -> Any:
    """A person's column as settings, from `COLUMN`, `COLUMN:drop`, or `COLUMN:alone:-,0` with
    placeholders.

    >>> parse_person("id"), parse_person("id:drop:-,0")
    ({'column': 'id'}, {'column': 'id', 'unknown': 'drop', 'placeholders': ['-', '0']})
    """
    if not isinstance(said, str):
        return said
    found = re.fullmatch(r"(.+?):(drop|alone)(?::(.+))?", said)
    if found is None:
        return {"column": said}
    column, unknown, listed = found.groups()
    return {"column": column, "unknown": unknown} | (
        {"placeholders": listed.split(",")} if listed else {}
    )


def parse_sensitive(texts: Sequence[str], folder: Path) -> dict[str, dict[str, object]]:
    """The settings by column of texts such as `salary:ordered:t=0.1,l=3`. Paths are relative to the
    folder.

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    attributes: dict[str, dict[str, object]] = {}
    for text in texts:
        known = DISTANCE.search(text)  # a name may have colons
        name, rest = (text[: known.start()], known[1]) if known else text.partition(":")[::2]
        distance, _, settings = rest.partition(":")
        if not name:
            raise ConfigurationError(
                f"--sensitive {text}: expected COLUMN:DISTANCE:SETTINGS, such as "
                "salary:ordered:t=0.1",
            )
        if name in attributes:
            raise ConfigurationError(f"--sensitive {text}: column {name!r} is listed twice")
        attributes[name] = {"distance": distance or "equal", **_settings(text, settings, folder)}
    return attributes


def _settings(text: str, settings: str, folder: Path) -> dict[str, object]:
    attribute: dict[str, object] = {}
    diversity: dict[str, object] = {}
    for part in settings.split(",") if settings else ():
        key, equals, value = part.partition("=")
        if not equals or not value:
            raise ConfigurationError(
                f"--sensitive {text}: found {part!r}; expected settings such as {KNOWN_SETTINGS}",
            )
        if key in attribute or key in diversity or (key == "l" and "distinct" in diversity):
            raise ConfigurationError(f"--sensitive {text}: {key} is listed twice")
        if key in ("t", "beta", "missing"):
            attribute[key] = value
        elif key in ("equal_width", "step"):
            attribute["domain"] = {key: _whole(text, key, value) if key == "equal_width" else value}
        elif key == "hierarchy":
            attribute[key] = resolve(value, f"--sensitive {text}", folder)
        elif key == "order":
            attribute[key] = value if value in ("value", "frequency") else value.split("|")
        elif key == "l":
            diversity["distinct"] = _whole(text, key, value)
        elif key in ("entropy", "frequency"):
            diversity[key] = value
        elif key == "recursive":
            c, colon, level = value.partition(":")
            if not colon:
                raise ConfigurationError(
                    f"--sensitive {text}: found recursive={value}; expected c and l, such as "
                    "recursive=3:2",
                )
            diversity[key] = {"c": c, "l": _whole(text, key, level)}
        else:
            raise ConfigurationError(
                f"--sensitive {text}: unknown setting {key!r}; expected {KNOWN_SETTINGS}",
            )
    return {**attribute, "l": diversity} if diversity else attribute


def _whole(text: str, key: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigurationError(
            f"--sensitive {text}: {key} is {value!r}; expected a whole number",
        ) from None


def parse_joint(text: str) -> dict[str, str | list[str]]:
    """The joint closeness of a text such as `disease,income:0.3`.

    >>> parse_joint("disease,income:0.3")
    {'attributes': ['disease', 'income'], 't': '0.3'}

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    names, colon, t = text.rpartition(":")
    if not colon or "," not in names or not t:
        raise ConfigurationError(
            f"--joint {text}: expected sensitive attributes and their t, such as "
            "disease,income:0.3 (or :measure)",
        )
    return {"attributes": names.split(","), "t": t}


def parse_population(text: str, folder: Path) -> Population:
    """The population of a text: a sampling fraction, `weight:COLUMN` or `table:TABLE`. Paths are
    relative to the folder.

    >>> parse_population("1/20", Path()).fraction
    Fraction(1, 20)

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    kind, _, rest = text.partition(":")
    given = {kind: rest} if rest and kind in ("weight", "table") else {"fraction": text}
    if "table" in given and guess_format(rest) != "table":
        given["table"] = resolve(rest, "--population", folder)
    try:
        return Population.model_validate(given)
    except ValidationError:
        raise ConfigurationError(
            f"--population {text}: expected a sampling fraction such as 0.05 (at least 1e-12, and "
            "at most 1), weight:COLUMN, or table:TABLE",
        ) from None


def parse_quasi_identifiers(
    names: Sequence[str],
    hierarchies: Sequence[str],
    folder: Path,
) -> dict[str, dict[str, object]]:
    """The settings by column of names separated by commas, and of hierarchies such as
    `zip=zip.csv`.

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    columns = [name for text in names for name in text.split(",")]
    attributes: dict[str, dict[str, object]] = {}
    for name in columns:
        if not name or name in attributes:
            raise ConfigurationError(
                "--quasi-identifiers: "
                f"{'a name is empty' if not name else f'column {name!r} is listed twice'}",
            )
        attributes[name] = {}
    for text in hierarchies:
        name, _, path = text.partition("=")
        if name not in attributes or not path:
            raise ConfigurationError(
                f"--hierarchy {text}: expected COLUMN=FILE of a quasi-identifier "
                f"({', '.join(attributes)})",
            )
        attributes[name] = {"hierarchy": resolve(path, f"--hierarchy {name}", folder)}
    return attributes


def parse_thresholds(value: Any) -> tuple[Any, ...]:
    """A threshold, or one for each size.

    >>> parse_thresholds("3,2"), parse_thresholds(3)
    ((3, 2), (3,))
    """
    if isinstance(value, str):
        return tuple(
            _whole_number(part, "whole numbers such as 3,2,1") for part in value.split(",")
        )
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def parse_levels(value: Any) -> Any:
    """Levels by column.

    >>> parse_levels("zip=1,age=2")
    {'zip': 1, 'age': 2}
    """
    if not isinstance(value, str):
        return dict(value) if isinstance(value, Mapping) else value
    pairs = [part.rpartition("=") for part in value.split(",")]
    levels = {name: _whole_number(level, "levels such as zip=1,age=2") for name, _, level in pairs}
    if len(levels) < len(pairs):
        raise ValueError("expected each column once")
    return levels


def _whole_number(text: str, expected: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) <= 18):
        raise ValueError(f"expected {expected}")
    return int(text)


Thresholds = Annotated[
    tuple[Annotated[int, Field(ge=1, le=LARGEST_COUNT)], ...],
    Field(min_length=1),
    BeforeValidator(parse_thresholds),
]
Levels = Annotated[
    dict[str, Annotated[int, Field(ge=0, le=LARGEST_COUNT)]],
    BeforeValidator(parse_levels),
]
