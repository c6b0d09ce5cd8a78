"""What is compared: every method with every k and every t, as run files that differ in nothing else."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any

import yaml

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.attributes import MEASURE
from tclose_spark.runfile.loading import spec_of
from tclose_spark.runfile.registry import DEFAULT, known_methods, modules
from tclose_spark.runfile.section import exact_number
from tclose_spark.runfile.spec import ReleaseSpec

ALL = "all"
AS_ASKED = "as asked"
"""What stands for t where the run file's own, of each sensitive attribute, are taken."""

Tree = Mapping[str, Any]
"""A run file as YAML, paths resolved; or its `method` section."""


@dataclass(frozen=True, kw_only=True)
class Combination:
    """One method at one k and t.

    method: how it is called in tables: its name and the settings that were given.
    t: as it was typed, or AS_ASKED.
    spec: the run file; None where it is refused.
    refused: why, where it is.
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
    sample: how many rows, as it was typed (see `sample.read_sample`).
    output: the folder, which is not public.
    plan_only: whether no row is moved.
    overwrite: whether what the folder has is begun anew.
    """

    spec: ReleaseSpec
    combinations: Sequence[Combination]
    sample: str
    output: str
    plan_only: bool
    overwrite: bool


def combinations(tree: Tree, ks: Sequence[int], ts: Sequence[str], methods: Mapping[str, Tree]) -> list[Combination]:
    """Every k with every t with every method, in this order.

    tree: the run file that they are variants of.
    methods: `method` sections by what they are called.
    """
    return [_combination(tree, k, t, name, methods[name]) for k, t, name in product(ks, ts, methods)]


def _combination(tree: Tree, k: int, t: str, name: str, method: Tree) -> Combination:
    try:
        return Combination(method=name, k=k, t=t, spec=spec_of(variant(tree, k, t, method)))
    except ConfigurationError as error:
        return Combination(method=name, k=k, t=t, spec=None, refused=str(error))


def variant(tree: Tree, k: int, t: str, method: Tree) -> dict[str, Any]:
    """A run file with another k, method, and t of all sensitive attributes that have one."""
    made: dict[str, Any] = copy.deepcopy(dict(tree))
    made["privacy"] = {**(made.get("privacy") or {}), "k": k, "alpha": None}
    made["method"] = dict(method)
    if t != AS_ASKED:
        sensitive = made["attributes"]["sensitive_attributes"]
        made["attributes"]["sensitive_attributes"] = {
            column: {**asked, "t": t} if limited(asked) else asked for column, asked in sensitive.items()
        }
    return made


def limited(asked: Tree | None) -> bool:
    """Whether a t is asked of a sensitive attribute, in its section of the run file."""
    return asked is not None and asked.get("t") not in (None, MEASURE)


def read_ks(text: str | None, spec: ReleaseSpec) -> list[int]:
    """The k of `--k 2,5,10`; without it that of the run file.

    >>> read_ks("2, 5,5", None)
    [2, 5]

    Raises:
        ConfigurationError: if one is no k, or that of the run file is to be chosen.
    """
    if text is None and spec.privacy.alpha is not None:
        raise ConfigurationError("--k: the run file's k is auto; give those that are to be compared, such as --k 5,10")
    if text is None:
        return [spec.privacy.k]
    parts = _parts(text, "--k")
    for part in parts:
        if not part.isdecimal() or int(part) < 2:
            raise ConfigurationError(f"--k {part}: expected whole numbers of at least 2, such as --k 2,5,10")
    return list(dict.fromkeys(map(int, parts)))


def read_ts(text: str | None, tree: Tree) -> list[str]:
    """The t of `--t 0.05,0.1`, as they are written; without it AS_ASKED.

    Raises:
        ConfigurationError: if one is no t, or no sensitive attribute of the run file has one.
    """
    if text is None:
        return [AS_ASKED]
    if not any(map(limited, tree["attributes"]["sensitive_attributes"].values())):
        raise ConfigurationError("--t: no sensitive attribute of the run file has a t that another could replace")
    parts = [f"0{part}" if part.startswith(".") else part for part in _parts(text, "--t")]
    for part in parts:
        try:
            fits = 0 < exact_number(part) <= 1
        except ValueError:
            fits = False
        if not fits:
            raise ConfigurationError(f"--t {part}: expected numbers above 0 and at most 1, such as --t 0.05,0.1")
    ts: dict[Fraction, str] = {}
    for part in parts:
        ts.setdefault(exact_number(part), part)
    return list(ts.values())


def read_methods(text: str, own: Tree | None) -> dict[str, Tree]:
    """The methods of `--methods`, as `method` sections by what they are called in tables.

    text: `all`, or names, each with settings if need be: `NAME:KEY=VALUE:KEY=VALUE`, separated by commas.
    own: the run file's `method` section. A method that is named without settings is that one, if it is the same, and
    has its defaults otherwise.

    Raises:
        ConfigurationError: if there is no such method, or what follows its name is no setting.
    """
    mine = {"name": DEFAULT, **(own or {})}
    methods: dict[str, Tree] = {}
    for part in _parts(text, "--methods"):
        name, *settings = part.split(":")
        for each in known_methods() if name == ALL else [name]:
            if each not in modules():
                raise ConfigurationError(f"--methods {each}: expected {ALL}, or some of {', '.join(modules())}")
            section = {"name": each, **dict(_setting(part, setting) for setting in settings)}
            methods.setdefault(called(section), mine if section == {"name": mine["name"]} else section)
    return methods


def called(section: Tree) -> str:
    """How a `method` section is called in tables.

    >>> called({"name": "tree", "effort": "fast"})
    'tree:effort=fast'
    """
    return ":".join([str(section["name"]), *(f"{key}={value}" for key, value in section.items() if key != "name")])


def _setting(part: str, setting: str) -> tuple[str, Any]:
    key, equals, value = setting.partition("=")
    if not equals or not key.strip() or key.strip() == "name":
        raise ConfigurationError(
            f"--methods {part}: expected NAME, or NAME:KEY=VALUE with keys of the method's section of the run file"
        )
    try:
        return key.strip(), yaml.safe_load(value)
    except yaml.YAMLError:
        raise ConfigurationError(f"--methods {part}: {value!r} is no value") from None


def _parts(text: str, option: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ConfigurationError(f"{option} {text!r}: expected a list such as a,b,c")
    return parts
