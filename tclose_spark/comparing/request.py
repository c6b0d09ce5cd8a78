"""What is compared: every method with every k and every t, as run files that differ in nothing
else.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import yaml
from pydantic import ValidationError

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.attributes import MEASURE
from tclose_spark.runfile.loading import explain_error, spec_of
from tclose_spark.runfile.registry import DEFAULT, MethodSettings, known_methods, modules
from tclose_spark.runfile.section import exact_number
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.runfile.text import meant

ALL = "all"
AS_ASKED = "as asked"
"""The t of a combination that takes the run file's own, of each sensitive attribute."""

Tree = Mapping[str, Any]
"""A run file as YAML, paths resolved; or its `method` section."""

Method = str | Tree | MethodSettings
"""A method by name, or with settings: as `NAME:KEY=VALUE`, as a `method` section, or as an
object.
"""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One method at one k and t.

    method: its name in tables, with the settings that were given.
    t: as it was written, or AS_ASKED.
    spec: the run file; None if the method refuses it, for the reason in `refused`.
    """

    method: str
    k: int
    t: str
    spec: ReleaseSpec | None
    refused: str = ""


@dataclass(frozen=True, kw_only=True)
class ComparisonRequest:
    """A whole comparison.

    spec: the run file that all combinations are variants of.
    sample: the number of rows; None for all.
    output: the folder, which is not public.
    plan_only: plan only, and move no row.
    bound: also find what no release can lose less than.
    overwrite: discard what the folder holds.
    """

    spec: ReleaseSpec
    combinations: Sequence[Combination]
    sample: int | None
    output: str
    plan_only: bool
    bound: bool
    overwrite: bool


def combinations(
    tree: Tree,
    ks: Sequence[int],
    ts: Sequence[str],
    methods: Mapping[str, Tree],
) -> list[Combination]:
    """Every k with every t with every method, in this order, as variants of a run file.

    methods: `method` sections by their names in tables.
    """
    return [
        _combination(tree, k, t, name, methods[name]) for k, t, name in product(ks, ts, methods)
    ]


def _combination(tree: Tree, k: int, t: str, name: str, method: Tree) -> Combination:
    try:
        return Combination(method=name, k=k, t=t, spec=spec_of(_variant(tree, k, t, method)))
    except ConfigurationError as error:
        return Combination(method=name, k=k, t=t, spec=None, refused=str(error))


def _variant(tree: Tree, k: int, t: str, method: Tree) -> dict[str, Any]:
    """A run file with another k, method, and t of all sensitive attributes that have one."""
    made = copy.deepcopy(dict(tree))
    made["privacy"] = {**(made.get("privacy") or {}), "k": k, "alpha": None}
    made["method"] = dict(method)
    if t != AS_ASKED:
        sensitive = made["attributes"]["sensitive_attributes"]
        made["attributes"]["sensitive_attributes"] = {
            column: {**settings, "t": t} if _has_t(settings) else settings
            for column, settings in sensitive.items()
        }
    return made


def _has_t(settings: Tree | None) -> bool:
    """Whether a sensitive attribute requires a t, in its section of the run file."""
    return settings is not None and settings.get("t") not in (None, MEASURE)


def requested_ks(k: int | Sequence[int] | None, spec: ReleaseSpec) -> list[int]:
    """The different k that are requested; by default that of the run file.

    >>> requested_ks([2, 5, 5], None)
    [2, 5]

    Raises:
        ConfigurationError: if one is not a valid k, or if the run file's k is `auto`.
    """
    if k is None and spec.privacy.alpha is not None:
        raise ConfigurationError(
            "--k: the run file's k is auto; give the values to compare, such as --k 5,10",
        )
    ks = [spec.privacy.k] if k is None else _listed(k)
    for one in ks:
        if not isinstance(one, int) or one < 2:
            raise ConfigurationError(
                f"--k {one}: expected whole numbers of at least 2, such as --k 2,5,10",
            )
    return list(dict.fromkeys(ks))


def requested_ts(t: Any, tree: Tree) -> list[str]:
    """The different t that are requested, as they are written; by default AS_ASKED.

    Raises:
        ConfigurationError: if one is not a valid t, or if no sensitive attribute of the run file
            has a t.
    """
    if t is None:
        return [AS_ASKED]
    if not any(map(_has_t, tree["attributes"]["sensitive_attributes"].values())):
        raise ConfigurationError(
            "--t: no sensitive attribute of the run file has a t that another could replace",
        )
    ts: dict[Fraction, str] = {}
    for text in map(str, _listed(t)):
        try:
            number = exact_number(text)
        except ValueError:
            number = Fraction(-1)
        if not 0 <= number <= 1:
            raise ConfigurationError(
                f"--t {text}: expected numbers from 0 to 1, such as --t 0.05,0.1",
            )
        ts.setdefault(number, f"0{text}" if text.startswith(".") else text)
    return list(ts.values())


def requested_methods(methods: Method | Sequence[Method], own: Tree | None) -> dict[str, Tree]:
    """The methods that are requested, as `method` sections by their names in tables.

    methods: a text is a name, or has settings: `NAME:KEY=VALUE`. `all` stands for every known
        method for tables of any size, and that of `own`.
    own: the run file's `method` section. A method without settings takes it if it is the same, and
        its own defaults otherwise.

    Raises:
        ConfigurationError: if there is no such method.
    """
    mine = {"name": DEFAULT, **(own or {})}
    sections: dict[str, Tree] = {}
    every = [
        n
        for n, m in known_methods().items()
        if n == mine["name"] or not m.settings.for_small_tables
    ]
    for method in _listed(methods):
        given = _section(method)
        for name in every if given["name"] == ALL else [given["name"]]:
            if name not in modules():
                question = meant(name, [ALL, *modules()])
                expected = f"expected {ALL}, or some of {', '.join(modules())}"
                raise ConfigurationError(
                    f"--methods {name}: {expected}{f'; {question}' if question else ''}",
                )
            section = {**given, "name": name}
            _require_settings(name, given)
            sections.setdefault(
                table_name(section),
                mine if section == {"name": mine["name"]} else section,
            )
    return sections


def _require_settings(name: str, section: Tree) -> None:
    """Raises ConfigurationError if the settings of a method are wrong, whatever the run file."""
    try:
        known_methods()[name].settings.model_validate(
            {key: v for key, v in section.items() if key != "name"},
        )
    except ValidationError as error:
        raise ConfigurationError(f"--methods {name}: {explain_error(error)}") from None


def _section(method: Method) -> Tree:
    if isinstance(method, str):
        name, *settings = method.split(":")
        return {"name": name.strip(), **dict(_setting(method, setting) for setting in settings)}
    if isinstance(method, MethodSettings):
        return {"name": method.name, **method.model_dump(mode="json", exclude_unset=True)}
    if "name" not in method:
        raise ConfigurationError(
            f"--methods: {', '.join(method)} without a name; expected {{'name': .., ..}}",
        )
    return {"name": method["name"], **method}


def _setting(method: str, setting: str) -> tuple[str, Any]:
    """The key and the value of one setting of `NAME:KEY=VALUE`."""
    key, equals, value = setting.partition("=")
    if not equals or not key.strip() or key.strip() == "name":
        raise ConfigurationError(
            f"--methods {method}: expected NAME, or NAME:KEY=VALUE with keys of the method's "
            "section of the run file",
        )
    try:
        return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigurationError(f"--methods {method}: {value!r} is not valid YAML") from None


def table_name(section: Tree) -> str:
    """The name of a `method` section in tables.

    >>> table_name({"name": "tree", "effort": "fast"})
    'tree:effort=fast'
    """
    return ":".join(
        [
            str(section["name"]),
            *(f"{key}={value}" for key, value in section.items() if key != "name"),
        ],
    )


def _listed(values: Any) -> list[Any]:
    """One value, or several, as a list."""
    return (
        list(values) if isinstance(values, Sequence) and not isinstance(values, str) else [values]
    )
