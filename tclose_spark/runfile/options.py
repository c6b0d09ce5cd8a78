"""The options, a line each: what a release does besides meeting requirements, and requirements of whole releases.

An option is a package with a module for each part, such as `judge.py`, whose class has both names (`PeopleJudge`).
A part is imported when a run uses the option.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from tclose_spark.runfile.brought import find_option, named

if TYPE_CHECKING:
    from tclose_spark.runfile.spec import ReleaseSpec


class Option(NamedTuple):
    """used: whether a run uses it. The keys of `output` do not decide that: a finished release is verified without
    those that made it.
    """

    name: str
    parts: tuple[str, ...]
    used: Callable[[ReleaseSpec], bool]

    def module(self, part: str) -> str:
        """The module of a part."""
        return f"tclose_spark.options.{self.name}.{part}"


OPTIONS: tuple[Option, ...] = (
    Option("suppression", ("maker", "judge"), lambda spec: spec.privacy.suppression_limit > 0),
    Option("mechanism", ("judge",), lambda spec: True),
    Option("observers", ("maker",), lambda spec: not spec.aggregates),
    Option("aggregates", ("maker",), lambda spec: bool(spec.aggregates)),
    Option("forms", ("maker", "judge"), lambda spec: not spec.release.is_plain),
    Option("pseudonyms", ("judge",), lambda spec: bool(spec.attributes.pseudonyms)),
    Option("joint", ("judge",), lambda spec: len(spec.attributes.sensitive_attributes) > 1),
    Option("people", ("reader", "maker", "judge"), lambda spec: spec.attributes.person is not None),
    Option("supersets", ("judge",), lambda spec: spec.privacy.nt is not None),
    Option("lines", ("maker", "judge"), lambda spec: spec.attributes.person is not None),
    Option("population", ("judge",), lambda spec: bool(spec.privacy.population or spec.privacy.risk)),
    Option("linked", ("maker",), lambda spec: True),
    Option("weights", ("reader", "judge"), lambda spec: spec.attributes.weight is not None),
    Option("profiles", ("reader", "judge"), lambda spec: spec.privacy.profile is not None),
)
"""In the order in which stages call them."""


def used_parts(spec: ReleaseSpec, part: str) -> list[Any]:
    """The classes of a part, of the options that a run uses."""
    used = [one for one in OPTIONS if part in one.parts and one.used(spec)]
    places = [f"{one.module(part)}:{one.name.capitalize()}{part.capitalize()}" for one in used]
    brought = [find_option(one.key).parts for one in spec.brought]
    return [*map(named, [*places, *(parts[part] for parts in brought if part in parts)])]
