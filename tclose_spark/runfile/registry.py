"""The methods, a line each. A method's module is imported when a run file names it.

Another package adds a method by an entry point of the group `tclose_spark.methods`: its name, and
the module that holds METHOD (or `module:NAME`).
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, Protocol

from pydantic_core import PydanticKnownError

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.release_form import Aggregate
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.text import one_of

MODULES = {
    "closeness_tree": "tclose_spark.methods.closeness_tree.method",
    "stack_and_deal": "tclose_spark.methods.stack_and_deal.method",
    "fragmentation": "tclose_spark.methods.fragmentation.method",
    "t_mondrian": "tclose_spark.methods.t_mondrian",
    "t_incognito": "tclose_spark.methods.t_incognito.method",
    "microaggregation": "tclose_spark.methods.microaggregation.method",
    "sabre": "tclose_spark.methods.sabre.method",
    "exact": "tclose_spark.methods.exact.method",
}
DEFAULT = next(iter(MODULES))
GROUP = "tclose_spark.methods"


class MethodSettings(Section):
    """The `method` section of a run file."""

    makes_l: ClassVar[tuple[str, ...]] = ()
    """Kinds of l-diversity that the method can promise."""
    makes: ClassVar[tuple[str, ...]] = ()
    """What else it can promise, of `beta` and `t: 0`."""
    suppresses: ClassVar[bool] = False
    """Whether it leaves out rows itself, where the run file allows it; of other methods the classes
    are left out that have labels coarser than `coarsest`.
    """
    counts_people: ClassVar[bool] = False
    """Whether it makes classes of k people where a person has several rows
    (`attributes.person`).
    """
    gathers_people: ClassVar[bool] = False
    """Whether it keeps all rows of a person in one class, even if their quasi-identifiers differ,
    unless it promises that regions of classes do not overlap.
    """
    takes_bins: ClassVar[bool] = False
    """Whether it looks at `bins` of sensitive attributes."""
    disjoint: ClassVar[bool] = False
    """Whether the regions of its classes never overlap (see `promises_disjoint`)."""
    for_small_tables: ClassVar[bool] = False
    """Whether it is for small tables only, so that a comparison of all methods leaves it out."""
    cuts_at_medians: ClassVar[bool] = False
    """Of one that cuts regions, whether it looks at the median of each quasi-identifier alone."""
    name: str
    """Of the method."""

    @property
    def promises_disjoint(self) -> bool:
        """Whether regions of classes never overlap with these settings: the labels of two classes
        have no common tuple of values. The certificate states it, and the verifier checks it.
        """
        return self.disjoint

    def aggregate_of(self, quasi: QuasiIdentifier) -> Aggregate | None:
        """The aggregate that classes publish for a quasi-identifier; None if they publish
        labels.
        """
        return None


class Known(Protocol):
    """The part of a method that the run file needs; the whole is `methods.method.Method`."""

    @property
    def name(self) -> str:
        """Its name in the run file."""
        ...

    @property
    def settings(self) -> type[MethodSettings]:
        """Its section of the run file."""
        ...

    @property
    def supports(self) -> Any:
        """`supports(settings, sensitive)` raises ValueError for requirements that the method cannot
        meet.
        """
        ...


@cache
def modules() -> Mapping[str, str]:
    """The module of each method, by name. A name of this package cannot be taken."""
    return MODULES | {
        point.name: point.value for point in entry_points(group=GROUP) if point.name not in MODULES
    }


def find_method(name: str) -> Known:
    """The method of this name.

    Raises:
        KeyError: if there is no such method.
        ConfigurationError: if the package that brings it is broken.
    """
    module, _, attribute = modules()[name].partition(":")
    try:
        method: Known = getattr(import_module(module), attribute or "METHOD")
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"method.name: {name} is brought by {module}, which cannot be imported, or holds no "
            f"method ({error})",
        ) from None
    if getattr(method, "name", None) != name:
        raise ConfigurationError(
            f"method.name: {name} is brought by {module}, which holds no method of this name",
        )
    return method


def known_methods() -> dict[str, Known]:
    """All methods by name, without those of broken packages."""
    methods = {}
    for name in modules():
        with suppress(ConfigurationError):
            methods[name] = find_method(name)
    return methods


def methods_that(make: str) -> list[str]:
    """The names of methods that make this kind of l-diversity, make `beta` or `t: 0`, use `bins`,
    or count `people`.
    """

    def does(s: type[MethodSettings]) -> bool:
        able = {"bins": s.takes_bins, "people": s.counts_people}
        return make in (*s.makes_l, *s.makes) or able.get(make, False)

    return [name for name, method in known_methods().items() if does(method.settings)]


def read_settings(value: Any) -> Any:
    """The settings in a run file's `method` section. Without a name, it is the default method."""
    if not isinstance(value, Mapping):
        return value
    named = {"name": DEFAULT, **value}
    if not isinstance(named["name"], str) or named["name"] not in modules():
        expected = one_of(map(repr, modules()))
        raise PydanticKnownError(
            "union_tag_invalid",
            {"discriminator": "name", "tag": str(named["name"]), "expected_tags": expected},
        )
    return find_method(named["name"]).settings.model_validate(named)


def require_support(settings: MethodSettings, sensitive: Mapping[str, SensitiveAttribute]) -> None:
    """Raises ValueError if a sensitive attribute has a requirement that the method cannot meet."""
    for name, attribute in sensitive.items():
        for kind, required in attribute.l:
            if required is not None and kind not in settings.makes_l:
                raise ValueError(
                    f"attributes.sensitive_attributes.{name}.l.{kind}: method {settings.name} "
                    f"makes no {kind} l; expected method: {{name: "
                    f"{' or '.join(methods_that(kind))}}}, or this key left out",
                )
        if (
            attribute.missing == "uninformative"
            and attribute.l.frequency
            and "entropy" not in settings.makes_l
        ):
            raise ValueError(
                f"attributes.sensitive_attributes.{name}.missing: method {settings.name} makes no "
                "frequency l of known values; expected method: {name: "
                f"{' or '.join(methods_that('entropy'))}}}",
            )
        for key, required in (("beta", attribute.beta is not None), ("t: 0", attribute.t == 0)):
            if required and key not in settings.makes:
                raise ValueError(
                    f"attributes.sensitive_attributes.{name}.{key}: method {settings.name} does "
                    f"not make it; expected method: {{name: {' or '.join(methods_that(key))}}}, or "
                    "another requirement",
                )
        if attribute.bins is not None and not settings.takes_bins:
            raise ValueError(
                f"attributes.sensitive_attributes.{name}.bins is for method: "
                f"{' or '.join(methods_that('bins'))}",
            )
    find_method(settings.name).supports(settings, sensitive)
