"""Requirements that other packages bring, by entry points of the group `tclose_spark.requirements`: the name of the key
of a sensitive attribute, and the module that holds REQUIREMENT (or `module:NAME`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Any, ClassVar

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.section import Section

GROUP = "tclose_spark.requirements"


class RequirementSettings(Section):
    """The settings of such a requirement, below its key in the settings of a sensitive attribute."""

    key: ClassVar[str]
    """Its name."""


@dataclass(frozen=True, kw_only=True)
class BroughtRequirement:
    """A requirement of a sensitive attribute. Its functions get its settings first.

    settings: its section of the run file.
    needs: gives the `Needs` that methods know, from the attribute's `SensitiveDomain`.
    judge: gives the `Judge` of a `JudgedAttribute`. words: the `Words` that report it.
    """

    settings: type[RequirementSettings]
    needs: Callable[..., Any]
    judge: Callable[..., Any]
    words: Any


FOUND: dict[str, BroughtRequirement] = {}
"""Those that run files named so far."""


@cache
def modules() -> Mapping[str, str]:
    """The module of each requirement of another package, by name."""
    return {point.name: point.value for point in entry_points(group=GROUP)}


def find_requirement(name: str) -> BroughtRequirement:
    """The requirement of this name.

    Raises:
        ConfigurationError: if the package that brings it is broken.
    """
    if name not in FOUND:
        module, _, attribute = modules()[name].partition(":")
        try:
            found = getattr(import_module(module), attribute or "REQUIREMENT")
        except (ImportError, AttributeError) as error:
            raise ConfigurationError(
                f"{name} is brought by {module}, which cannot be imported, or holds no requirement ({error})"
            ) from None
        if not isinstance(found, BroughtRequirement) or found.settings.key != name:
            raise ConfigurationError(f"{name} is brought by {module}, which holds no requirement of this name")
        FOUND[name] = found
    return FOUND[name]
