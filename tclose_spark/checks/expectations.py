"""Great Expectations over the class table: core expectations built in code, and the assertion that they were all evaluated.

A suite that is read from a file may silently lose expectations, an empty table passes most of them, and NULL passes
bounds; so suites are built here, hold a row count and not-null, and what was evaluated is compared with what was asked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tclose_spark.checks.classes import JudgedAttribute
from tclose_spark.errors import GuaranteeError
from tclose_spark.measures.diversity import ENTROPY_TOLERANCE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Expectation:
    """One core expectation: its type in snake case, its arguments, and what it means to a reader."""

    type: str
    arguments: tuple[tuple[str, Any], ...]
    meaning: str

    @property
    def key(self) -> str:
        """Type and arguments as canonical text (a bound of 3 comes back as 3.0)."""
        plain = {name: value if isinstance(value, str | bool) else float(value) for name, value in self.arguments}
        return json.dumps([self.type, plain], sort_keys=True)


def expect_rows(classes: int) -> Expectation:
    """The table has exactly this many classes."""
    return Expectation("expect_table_row_count_to_equal", (("value", classes),), f"{classes} classes were found in the release")


def expect_some_rows() -> Expectation:
    """The table is not empty."""
    return Expectation("expect_table_row_count_to_be_between", (("min_value", 1),), "there are classes")


def expect_present(column: str) -> Expectation:
    """No class lacks the figure."""
    return Expectation("expect_column_values_to_not_be_null", (("column", column),), f"every class has {column}")


def expect_at_least(column: str, bound: float, meaning: str, strict: bool = False) -> Expectation:
    """The smallest figure of all classes is at least (or, strictly, above) a bound."""
    arguments: tuple[tuple[str, Any], ...] = (("column", column), ("min_value", bound))
    return Expectation("expect_column_min_to_be_between", (*arguments, ("strict_min", True)) if strict else arguments, meaning)


def expectations_of(k: int | None, attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """The suite over the class table: all that is asked, and fail-closed where a figure is missing."""
    expectations = [expect_present("size")]
    expectations.append(expect_at_least("size", k or 1, f"k-anonymity: every class has at least {k or 1} records"))
    for a in attributes:
        emd, margin, distinct, entropy = (a.column(measure) for measure in ("emd", "margin", "distinct", "entropy"))
        expectations += [expect_present(emd), expect_present(distinct)]
        if a.asked.t is not None:
            meaning = f"t-closeness of {a.name}: EMD <= {a.asked.t} in every class, in exact integers"
            expectations += [expect_present(margin), expect_at_least(margin, 0, meaning)]
        expectations.append(expect_at_least(distinct, a.asked.l.distinct or 1, f"distinct l-diversity of {a.name}"))
        if a.asked.l.entropy is not None:
            bound = float(a.asked.l.entropy) - ENTROPY_TOLERANCE
            expectations += [expect_present(entropy), expect_at_least(entropy, bound, f"entropy l-diversity of {a.name}")]
        if a.asked.l.recursive is not None:
            recursive = a.column("recursive_margin")
            expectations.append(expect_present(recursive))
            expectations.append(expect_at_least(recursive, 0, f"recursive (c, l)-diversity of {a.name}", strict=True))
    return expectations


def suite_json(name: str, expectations: Sequence[Expectation]) -> str:
    """The suite as Great Expectations reads it, for pipelines of one's own over a class table."""
    import great_expectations as gx

    gx.get_context(mode="ephemeral")  # a suite cannot be built without one
    suite = _suite(name, expectations).to_json_dict()
    for part in (suite, *suite["expectations"]):
        part.pop("id", None)
    return json.dumps(suite, indent=1, default=str)


def _suite(name: str, expectations: Sequence[Expectation]) -> Any:
    import great_expectations as gx

    suite = gx.ExpectationSuite(name=name)
    for expectation in expectations:
        kind = "".join(word.capitalize() for word in expectation.type.split("_"))
        suite.add_expectation(getattr(gx.expectations, kind)(**dict(expectation.arguments), notes=expectation.meaning, severity="critical"))
    return suite


def validate(classes: DataFrame, name: str, expectations: Sequence[Expectation]) -> tuple[bool, str]:
    """(all hold, results as JSON) of a suite over a class table. The results hold no values of the table.

    Raises:
        GuaranteeError: if anything but what was asked was evaluated, or an evaluation failed to run.
    """
    os.environ.setdefault("GX_ANALYTICS_ENABLED", "false")
    import great_expectations as gx

    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = {"globally": False}
    source = context.data_sources.add_spark(name="spark", persist=False)
    batch = source.add_dataframe_asset(name="classes").add_batch_definition_whole_dataframe("all")
    suite = _suite(name, expectations)
    definition = context.validation_definitions.add(gx.ValidationDefinition(name=name, data=batch, suite=context.suites.add(suite)))
    results = definition.run(batch_parameters={"dataframe": classes}, result_format="BOOLEAN_ONLY")
    _require_all_evaluated(results, expectations)
    return bool(results.success), json.dumps(results.to_json_dict(), indent=1, default=str)


def _require_all_evaluated(results: Any, expectations: Sequence[Expectation]) -> None:
    evaluated = []
    for result in results.results:
        if (result.exception_info or {}).get("raised_exception"):
            raise GuaranteeError(f"the expectation {result.expectation_config.type} could not be evaluated; nothing is published")
        arguments = dict(result.expectation_config.kwargs)
        arguments.pop("batch_id", None)
        evaluated.append(Expectation(result.expectation_config.type, tuple(arguments.items()), "").key)
    if sorted(evaluated) != sorted(expectation.key for expectation in expectations):
        raise GuaranteeError(
            f"{len(expectations)} expectations were asked of the classes, and others ({len(evaluated)}) were evaluated; nothing is published"
        )
