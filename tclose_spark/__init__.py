"""k-anonymous and t-close releases of tables about people, on Apache Spark, with the proof.

    import tclose_spark as tc

    made = tc.release(people, {"attributes": ..., "privacy": {"k": 10}}, output="build/people")
    made.table, made.certificate, made.report

What is named here is imported when it is first used, so that this import is fast and starts nothing. docs/python.md
says what each is for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tclose_spark.version import __version__

if TYPE_CHECKING:
    from tclose_spark.api.comparing import compare as compare
    from tclose_spark.api.generating import generate as generate
    from tclose_spark.api.judging import audit as audit
    from tclose_spark.api.judging import explain as explain
    from tclose_spark.api.planning import Planned as Planned
    from tclose_spark.api.planning import plan as plan
    from tclose_spark.api.previewing import Preview as Preview
    from tclose_spark.api.previewing import hierarchy as hierarchy
    from tclose_spark.api.release import Release as Release
    from tclose_spark.api.release import Report as Report
    from tclose_spark.api.releasing import release as release
    from tclose_spark.api.releasing import run_stage as run_stage
    from tclose_spark.api.releasing import verify as verify
    from tclose_spark.audit.audit import Audit as Audit
    from tclose_spark.audit.explain import Explanation as Explanation
    from tclose_spark.compare.comparison import Comparison as Comparison
    from tclose_spark.errors import ConfigurationError as ConfigurationError
    from tclose_spark.errors import GuaranteeError as GuaranteeError
    from tclose_spark.errors import InputError as InputError
    from tclose_spark.errors import TcloseError as TcloseError
    from tclose_spark.errors import UnreachableError as UnreachableError
    from tclose_spark.methods.closeness_tree.settings import ClosenessTree as ClosenessTree
    from tclose_spark.methods.fragmentation.settings import Fragmentation as Fragmentation
    from tclose_spark.methods.microaggregation.settings import Microaggregation as Microaggregation
    from tclose_spark.methods.sabre.settings import Sabre as Sabre
    from tclose_spark.methods.stack_and_deal.settings import StackAndDeal as StackAndDeal
    from tclose_spark.methods.t_incognito.settings import TIncognito as TIncognito
    from tclose_spark.methods.t_mondrian.settings import TMondrian as TMondrian
    from tclose_spark.runfile.attributes import Attributes as Attributes
    from tclose_spark.runfile.attributes import Bins as Bins
    from tclose_spark.runfile.attributes import Diversity as Diversity
    from tclose_spark.runfile.attributes import QuasiIdentifier as QuasiIdentifier
    from tclose_spark.runfile.attributes import Recursive as Recursive
    from tclose_spark.runfile.attributes import SensitiveAttribute as SensitiveAttribute
    from tclose_spark.runfile.attributes import Text as Text
    from tclose_spark.runfile.hierarchies import HierarchyBuilder as HierarchyBuilder
    from tclose_spark.runfile.schema import schema as schema
    from tclose_spark.runfile.spec import Input as Input
    from tclose_spark.runfile.spec import Output as Output
    from tclose_spark.runfile.spec import Privacy as Privacy
    from tclose_spark.runfile.spec import ReleaseSpec as ReleaseSpec

_PLACES = {
    "api.comparing": ("compare",),
    "api.generating": ("generate",),
    "api.judging": ("audit", "explain"),
    "api.planning": ("Planned", "plan"),
    "api.previewing": ("Preview", "hierarchy"),
    "api.release": ("Release", "Report"),
    "api.releasing": ("release", "run_stage", "verify"),
    "audit.audit": ("Audit",),
    "audit.explain": ("Explanation",),
    "compare.comparison": ("Comparison",),
    "errors": ("ConfigurationError", "GuaranteeError", "InputError", "TcloseError", "UnreachableError"),
    "methods.closeness_tree.settings": ("ClosenessTree",),
    "methods.fragmentation.settings": ("Fragmentation",),
    "methods.microaggregation.settings": ("Microaggregation",),
    "methods.sabre.settings": ("Sabre",),
    "methods.stack_and_deal.settings": ("StackAndDeal",),
    "methods.t_incognito.settings": ("TIncognito",),
    "methods.t_mondrian.settings": ("TMondrian",),
    "runfile.attributes": (
        "Attributes",
        "Bins",
        "Diversity",
        "QuasiIdentifier",
        "Recursive",
        "SensitiveAttribute",
        "Text",
    ),
    "runfile.hierarchies": ("HierarchyBuilder",),
    "runfile.schema": ("schema",),
    "runfile.spec": ("Input", "Output", "Privacy", "ReleaseSpec"),
}
_ROOMS = ("audit", "compare")  # they are called themselves: see `called`
_MODULES = {name: f"tclose_spark.{place}" for place, names in _PLACES.items() for name in names}

__all__ = [
    "Attributes",
    "Audit",
    "Bins",
    "ClosenessTree",
    "Comparison",
    "ConfigurationError",
    "Diversity",
    "Explanation",
    "Fragmentation",
    "GuaranteeError",
    "HierarchyBuilder",
    "Input",
    "InputError",
    "Microaggregation",
    "Output",
    "Planned",
    "Preview",
    "Privacy",
    "QuasiIdentifier",
    "Recursive",
    "Release",
    "ReleaseSpec",
    "Report",
    "Sabre",
    "SensitiveAttribute",
    "StackAndDeal",
    "TIncognito",
    "TMondrian",
    "TcloseError",
    "Text",
    "UnreachableError",
    "__version__",
    "audit",
    "compare",
    "explain",
    "generate",
    "hierarchy",
    "plan",
    "release",
    "run_stage",
    "schema",
    "verify",
]


def __getattr__(name: str) -> Any:
    """What is named in `__all__`, imported now."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if name in _ROOMS:
        return import_module(f"{__name__}.{name}")
    value = getattr(import_module(_MODULES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
