"""(n, t)-closeness (Li, Li and Venkatasubramanian 2010; Weber 2.2.3): every class is at most t away from some natural
superset of at least n records. Both the verdict on a release and the audit of a table use this module.

The whole table is a superset, and so is a class of n records. For classes that neither proves, the driver searches
boxes of labels (see `measures.supersets.box_search`) in tables of up to MOST_CLASSES classes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from operator import and_
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T
from pyspark.sql.pandas.types import from_arrow_type

from tclose_spark.checks.classes.class_table import Classes, JudgedAttribute, JudgedQuasi, measure_column
from tclose_spark.checks.classes.figures import Guarantee
from tclose_spark.checks.classes.tallies import ClassTally
from tclose_spark.checks.expectations import Expectation, expect_present
from tclose_spark.checks.labels.regions import BEST, BoxProofs, open_classes
from tclose_spark.io.tables.columns import quoted
from tclose_spark.measures.supersets.box_search import MOST_BOXES, ProofTarget

WHOLE, ITSELF = "the whole table", "the class itself"
MOST_CLASSES, MOST_COUNTS = 2_000_000, 1 << 25  # that the driver holds to search boxes; counts are of their values


def find_supersets(
    classes: DataFrame,
    tallies: DataFrame,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    n: int,
    most: int = MOST_BOXES,
) -> tuple[DataFrame, list[str]]:
    """(the class table with two columns more for each attribute with a t, notes on what was not tried).

    `superset_<attribute>` is a natural superset that proves the class, or NULL. `nt_emd_<attribute>` is the distance
    from it, or the least distance that was found. tallies: of the same classes; most: boxes to try.
    """
    proven = [holds for _, holds in _against_all(attributes, n)]
    if classes.where((F.col("size") < n) & ~reduce(and_, proven)).isEmpty():
        return _joined(classes, None, attributes, n), []
    best, notes = _in_boxes(tallies, quasi, attributes, n, most)
    return _joined(classes, best, attributes, n), notes


def _against_all(attributes: Sequence[JudgedAttribute], n: int) -> list[tuple[JudgedAttribute, Column]]:
    """The attributes with a t, and whether a class is near a whole table of at least n records."""
    return [
        (a, (quoted(a.column("margin")) >= 0) if n <= int(a.distance.table.sum()) else F.lit(False))
        for a in attributes
        if a.settings.t is not None
    ]


def _joined(classes: DataFrame, best: DataFrame | None, attributes: Sequence[JudgedAttribute], n: int) -> DataFrame:
    """The class table with the superset that proves each class: the whole table, itself, or the best box."""
    joined, large = classes, F.col("size") >= n
    if best is not None:
        joined = classes.join(best, classes["quasi_identifiers"].eqNullSafe(best["unproven"]), "left")
    for a, holds_against_all in _against_all(attributes, n):
        nearest = quoted(f"best_{a.name}") if best is not None else F.lit(None).cast(from_arrow_type(BEST))
        emd = quoted(a.column("emd"))
        superset = F.when(holds_against_all, WHOLE).when(large, ITSELF).when(nearest["proven"], nearest["superset"])
        whole = emd if n <= int(a.distance.table.sum()) else F.lit(None)
        distance = (
            F.when(holds_against_all, emd)
            .when(large, 0.0)
            .when(nearest["proven"], nearest["emd"])
            .otherwise(F.least(nearest["emd"], whole))
        )
        joined = joined.withColumns(
            {measure_column("superset", a.name): superset, measure_column("nt_emd", a.name): distance}
        )
    return joined.drop("unproven", *[f"best_{a.name}" for a, _ in _against_all(attributes, n)])


def _in_boxes(
    tallies: DataFrame, quasi: Sequence[JudgedQuasi], attributes: Sequence[JudgedAttribute], n: int, most: int
) -> tuple[DataFrame | None, list[str]]:
    """(`unproven`, the labels of each open class, with `best_<attribute>`, its best box; notes). None if there are too
    many classes for the driver.
    """
    counts = F.coalesce(F.sum(F.size("n")), F.lit(0)).alias("counts")
    size = tallies.agg(F.count("*").alias("classes"), counts).toArrow().to_pylist()[0]
    if size["classes"] > MOST_CLASSES or size["counts"] > MOST_COUNTS:
        return None, [
            f"(n, t): no box was tried. The table has {size['classes']:,} classes with {size['counts']:,} counts of "
            f"values; the driver holds at most {MOST_CLASSES:,} and {MOST_COUNTS:,}. A class that neither the whole "
            "table nor its own records prove counts as not proven"
        ]
    tally = ClassTally.read(tallies.toArrow(), sum(len(q.columns) for q in quasi))
    held = Classes.of(tally, attributes)
    targets = {
        a.name: ProofTarget(
            a.distance, t, held.marginals[a.name], open_classes(a.distance, t, held.marginals[a.name], n)
        )
        for a in attributes
        if (t := a.settings.t) is not None
    }
    labels = iter(tally.labels)
    columns = [[pa.chunked_array([next(labels)]) for _ in q.columns] for q in quasi]
    proofs = BoxProofs.of(columns, held.sizes, list(targets.values()), quasi, n, most)
    unproven = np.flatnonzero(np.any([target.open for target in targets.values()], axis=0))
    names = [column for q in quasi for column in q.columns]
    texts = [column.take(pa.array(unproven)) for column in tally.labels]
    table = pa.table(
        [pa.StructArray.from_arrays(texts, names), *[proofs.best(place, unproven) for place in range(len(targets))]],
        ["unproven", *[f"best_{name}" for name in targets]],
    )
    schema = T.StructType(
        [
            T.StructField("unproven", T.StructType([T.StructField(name, T.StringType()) for name in names])),
            *[T.StructField(f"best_{name}", from_arrow_type(BEST)) for name in targets],
        ]
    )
    best = tallies.sparkSession.createDataFrame(table, schema)
    if proofs.complete:
        return best, []
    return best, [
        f"(n, t): {proofs.search.tried:,} boxes were tried, and there are more. A class without a proof may have one "
        "among the others; tclose audit tries more with --supersets"
    ]


@dataclass(frozen=True, kw_only=True)
class NearSupersets:
    """How the classes hold (n, t)-closeness of an attribute.

    guarantee: with the worst class and its nearest superset.
    whole_table, itself, superset: how many classes each of these proves; a class counts for the first that does.
    """

    guarantee: Guarantee
    whole_table: int
    itself: int
    superset: int


def near_supersets(classes: DataFrame, attributes: Sequence[JudgedAttribute], n: int) -> list[NearSupersets]:
    """By attribute with a t, from a class table as `find_supersets` returns it. One job."""
    with_t = [a for a in attributes if a.settings.t is not None]
    found = classes.agg(*[_summed(a).alias(str(i)) for i, a in enumerate(with_t)]).toArrow().to_pylist()[0]
    return [_near(a, n, found[str(i)]) for i, a in enumerate(with_t)]


def _summed(a: JudgedAttribute) -> Column:
    superset, emd = quoted(measure_column("superset", a.name)), quoted(measure_column("nt_emd", a.name))
    unproven, size = superset.isNull(), F.col("size")
    worst = F.struct(
        unproven.alias("open"), emd.alias("emd"), F.col("quasi_identifiers"), superset.alias("superset"), size
    )
    return F.struct(
        F.sum(unproven.cast("bigint")).alias("classes"),
        F.sum(F.when(unproven, size).otherwise(0)).alias("rows"),
        F.count(F.when(superset == WHOLE, 1)).alias("whole_table"),
        F.count(F.when(superset == ITSELF, 1)).alias("itself"),
        F.count(F.when(~superset.isin(WHOLE, ITSELF), 1)).alias("superset"),
        F.max(worst).alias("worst"),
    )


def _near(a: JudgedAttribute, n: int, found: Mapping[str, Any]) -> NearSupersets:
    worst, t = found["worst"], a.settings.t or Fraction(0)
    guarantee = Guarantee(
        measure="(n, t)-closeness",
        attribute=a.name,
        required=f"n = {n}, t = {float(t):g}",
        achieved=worst["emd"],
        classes=found["classes"],
        rows=found["rows"],
        worst={**worst["quasi_identifiers"], "(superset)": worst["superset"] or "none was found"},
        size=worst["size"],
    )
    return NearSupersets(guarantee=guarantee, **{key: found[key] for key in ("whole_table", "itself", "superset")})


def without_t(attributes: Sequence[JudgedAttribute]) -> list[JudgedAttribute]:
    """The attributes with their distance from the whole table reported, and not required."""
    return [replace(a, settings=a.settings.model_copy(update={"t": None})) for a in attributes]


def expect_supersets(attributes: Sequence[JudgedAttribute]) -> list[Expectation]:
    """Each class has a superset that proves it, for every attribute with a t."""
    return [expect_present(measure_column("superset", a.name)) for a in attributes if a.settings.t is not None]
