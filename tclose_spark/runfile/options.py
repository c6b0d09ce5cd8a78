"""The options, a line each: what a release does besides meeting requirements, and requirements of
whole releases.

An option is a package. Its `maker.py` has what reads the input and makes a release, its `judge.py`
what judges and describes it, as far as the option needs them. A part is a class with the names of
the option and of the part (`PeopleJudge`). A run imports the parts of the options that it uses, and
for the page the words of all options.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from tclose_spark.runfile.brought import find_option, modules, named

if TYPE_CHECKING:
    from tclose_spark.runfile.spec import ReleaseSpec


MODULE_OF_PART = {"reader": "maker", "maker": "maker", "judge": "judge", "words": "judge"}
"""By part, the name of its module."""


class Option(NamedTuple):
    """used: whether a run uses it. The keys of `output` do not decide that: a finished release is
    verified without those that made it.
    """

    name: str
    parts: tuple[str, ...]
    used: Callable[[ReleaseSpec], bool]

    def module(self, part: str) -> str:
        """The module of a part."""
        return f"tclose_spark.options.{self.name}.{MODULE_OF_PART[part]}"


OPTIONS: tuple[Option, ...] = (
    Option("suppression", ("maker", "words"), lambda spec: spec.privacy.suppression_limit > 0),
    Option("observers", ("maker",), lambda spec: not spec.aggregates),
    Option("aggregates", ("maker", "words"), lambda spec: bool(spec.aggregates)),
    Option("forms", ("maker", "judge", "words"), lambda spec: not spec.release.is_plain),
    Option("pseudonyms", ("judge", "words"), lambda spec: bool(spec.attributes.pseudonyms)),
    Option("joint", ("judge", "words"), lambda spec: len(spec.attributes.sensitive_attributes) > 1),
    Option(
        "households",
        ("reader", "maker", "judge", "words"),
        lambda spec: "household" in spec.attributes.owners,
    ),
    Option(
        "people",
        ("reader", "maker", "judge", "words"),
        lambda spec: "person" in spec.attributes.owners,
    ),
    Option("supersets", ("judge", "words"), lambda spec: spec.privacy.nt is not None),
    Option("lines", ("maker", "judge", "words"), lambda spec: "person" in spec.attributes.owners),
    Option(
        "population",
        ("judge", "words"),
        lambda spec: bool(spec.privacy.population or spec.privacy.risk) or spec.measures_households,
    ),
    Option("linked", ("maker",), lambda spec: True),
    Option(
        "weights",
        ("reader", "judge", "words"),
        lambda spec: "weight" in spec.attributes.beside_rows,
    ),
    Option("profiles", ("reader", "judge", "words"), lambda spec: spec.privacy.profile is not None),
)
"""In the order in which stages call them. The maker of `forms` assigns new labels to the rows of
exact releases, so it comes after the other makers with an `assign`.
"""


def used_parts(spec: ReleaseSpec, part: str) -> list[Any]:
    """The classes of a part, of the options that a run uses."""
    return [
        *own_parts(spec, part),
        *brought_parts([one.key for one in spec.brought], part).values(),
    ]


def own_parts(spec: ReleaseSpec, part: str) -> list[Any]:
    """The classes of a part, of the options of this package that a run uses."""
    return _parts(part, [one for one in OPTIONS if one.used(spec)])


def every_own_part(part: str) -> list[Any]:
    """The classes of a part, of all options of this package."""
    return _parts(part, OPTIONS)


def brought_parts(keys: Collection[str], part: str) -> dict[str, Any]:
    """The classes, or functions, of a part of the options of other packages that have these keys,
    by key.
    """
    known = [key for key in modules("option") if key in keys]
    return {key: named(parts[part]) for key in known if part in (parts := find_option(key).parts)}


def _parts(part: str, options: Iterable[Option]) -> list[Any]:
    return [
        named(f"{one.module(part)}:{one.name.capitalize()}{part.capitalize()}")
        for one in options
        if part in one.parts
    ]
