"""Every public name of the package, once. `import tclose_spark` imports this module when a name is
first used.
"""

from tclose_spark.api.audit import Audit, Explanation, audit, explain
from tclose_spark.api.compare import Comparison, compare
from tclose_spark.api.fingerprint import fingerprint
from tclose_spark.api.generate import generate
from tclose_spark.api.hierarchy import Preview, hierarchy
from tclose_spark.api.history import History, history
from tclose_spark.api.release import Release, Report, release, verify
from tclose_spark.api.stages import Planned, plan, run_stage
from tclose_spark.api.suggest import suggest
from tclose_spark.errors import (
    ConfigurationError,
    GuaranteeError,
    InputError,
    TcloseError,
    UnreachableError,
)
from tclose_spark.methods.closeness_tree.settings import ClosenessTree
from tclose_spark.methods.exact.method import Exact
from tclose_spark.methods.fragmentation.settings import Fragmentation
from tclose_spark.methods.microaggregation.settings import Microaggregation
from tclose_spark.methods.sabre.method import Sabre
from tclose_spark.methods.stack_and_deal.method import StackAndDeal
from tclose_spark.methods.t_incognito.method import TIncognito
from tclose_spark.methods.t_mondrian import TMondrian
from tclose_spark.runfile.attributes import (
    Attributes,
    Bins,
    Diversity,
    QuasiIdentifier,
    Recursive,
    SensitiveAttribute,
    Text,
)
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.runfile.schema import schema
from tclose_spark.runfile.spec import Input, Output, Privacy, ReleaseSpec
from tclose_spark.suggesting.suggestion import Suggestion
from tclose_spark.version import __version__

__all__ = [
    "Attributes",
    "Audit",
    "Bins",
    "ClosenessTree",
    "Comparison",
    "ConfigurationError",
    "Diversity",
    "Exact",
    "Explanation",
    "Fragmentation",
    "GuaranteeError",
    "HierarchyBuilder",
    "History",
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
    "Suggestion",
    "TIncognito",
    "TMondrian",
    "TcloseError",
    "Text",
    "UnreachableError",
    "__version__",
    "audit",
    "compare",
    "explain",
    "fingerprint",
    "generate",
    "hierarchy",
    "history",
    "plan",
    "release",
    "run_stage",
    "schema",
    "suggest",
    "verify",
]
