"""Requirements and options that other packages bring, by entry points: the name of the key in the
run file, and the module that holds REQUIREMENT or OPTION (or `module:NAME`).

The group `tclose_spark.requirements` has keys of sensitive attributes; `tclose_spark.options`, of
the run file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar, TypeVar

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.section import Section


class BroughtSettings(Section):
    """The settings of what another package brings, below its key."""

    key: ClassVar[str]
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class BroughtRequirement:
    """A requirement of a sensitive attribute. Its functions get its settings first.

    settings: its section of the run file.
    needs: gives the `Needs` that methods know, from the attribute's `SensitiveDomain`.
    judge: gives the `Judge` of a `JudgedAttribute`. words: the `Words` that report it.
    """

    settings: type[BroughtSettings]
    needs: Callable[..., Any]
    judge: Callable[..., Any]
    words: Any


@dataclass(frozen=True, kw_only=True)
class BroughtOption:
    """An option of a release.

    settings: its section of the run file.
    parts: by name, as `module:NAME`: `reader`, `maker`, `judge` and `words`, classes that get what
        those of this package get. `words` may be a function from the run file and the verifier's
        figures to keys of the certificate.
    """

    settings: type[BroughtSettings]
    parts: Mapping[str, str]


Brought = TypeVar("Brought", BroughtRequirement, BroughtOption)
Found = TypeVar("Found")
Value = TypeVar("Value")
PARTS = ("reader", "maker", "judge", "words")
"""The parts that an option may have."""
FOUND: dict[str, BroughtRequirement] = {}
"""The requirements that run files named so far."""


@cache
def modules(what: str = "requirement") -> Mapping[str, str]:
    """The module of each requirement, or option, of another package, by name."""
    return {point.name: point.value for point in entry_points(group=f"tclose_spark.{what}s")}


def maker_of(group: str, name: str) -> tuple[str, str | None]:
    """(the package that brings an entry point, its version); its module and None if it is of no
    installed package.
    """
    for point in entry_points(group=group, name=name):
        return (point.module, None) if point.dist is None else (point.dist.name, point.dist.version)
    return name, None


def add_own(
    key: str | None,
    kept: dict[str, Value],
    add: Callable[[dict[str, Value]], Found],
) -> Found:
    """What `add` returns, an option's function that adds keys to a dict. One of another package
    changes none that is there: it gets a copy.

    key: of an option of another package; None of one of this package.

    Raises:
        ConfigurationError: if it changes or removes one that is there.
    """
    if key is None:
        return add(kept)
    seen = deepcopy(kept)
    found = add(seen)
    for name, value in kept.items():
        if name not in seen or seen[name] != value:
            raise ConfigurationError(
                f"the option {key} of another package changes {name!r}, which is there already; "
                "expected a key of its own",
            )
    kept |= {name: value for name, value in seen.items() if name not in kept}
    return found


def find_requirement(name: str) -> BroughtRequirement:
    """The requirement of this name.

    Raises:
        ConfigurationError: if the package that brings it is broken, or reports it below another
            key.
    """
    if name not in FOUND:
        found = _find("requirement", name, modules()[name], BroughtRequirement)
        if odd := {found.words.key, found.words.section} - {name}:
            raise ConfigurationError(
                f"{name}: its words have the key or section {min(odd)!r}; expected {name!r} in both",
            )
        FOUND[name] = found
    return FOUND[name]


def find_option(name: str) -> BroughtOption:
    """The option of this name. Raises like `find_requirement`, and if it has a part that nothing
    would call.
    """
    found = _find("option", name, modules("option")[name], BroughtOption)
    if odd := sorted(found.parts.keys() - {*PARTS}):
        raise ConfigurationError(f"{name} has the part {odd[0]!r}; expected {', '.join(PARTS)}")
    return found


def named(place: str) -> Any:
    """The object at `module:NAME`."""
    module, _, attribute = place.partition(":")
    return getattr(import_module(module), attribute)


def _find(what: str, name: str, place: str, kind: type[Brought]) -> Brought:
    module, _, attribute = place.partition(":")
    try:
        found = named(f"{module}:{attribute or what.upper()}")
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(
            f"{name} is brought by {module}, which cannot be imported, or holds no {what} ({error})",
        ) from None
    if not isinstance(found, kind) or found.settings.key != name:
        raise ConfigurationError(
            f"{name} is brought by {module}, which holds no {what} of this name",
        )
    return found


def read_brought(
    value: dict[str, object],
    known: Mapping[str, str],
    own: Mapping[str, object],
    find: Callable[[str], Any],
) -> dict[str, object]:
    """The keys of a section, those of other packages together as `brought`. known: these; own: all
    others.
    """
    others = sorted(known.keys() & value.keys() - own.keys())
    found = tuple(find(key).settings.model_validate(value[key]) for key in others)
    return (
        {**{key: part for key, part in value.items() if key not in others}, "brought": found}
        if found
        else value
    )


def write_brought(section: Any, written: dict[str, Any]) -> dict[str, Any]:
    """A written section with the keys of other packages as the run file has them."""
    found = zip(section.brought, written.pop("brought", ()), strict=False)
    return {**written, **{one.key: part for one, part in found}}
