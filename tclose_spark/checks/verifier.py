"""The independent verifier: reads what was written, and from that alone says whether all that was asked holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql import types as T

from tclose_spark.checks.classes import JudgedAttribute, JudgedQuasi, class_table
from tclose_spark.checks.expectations import Expectation, expect_at_least, expect_present, expect_rows, validate
from tclose_spark.domains import Profile, sensitive_domain
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.hierarchy import Hierarchy
from tclose_spark.measures.diversity import ENTROPY_TOLERANCE
from tclose_spark.measures.utility import LabelLoss
from tclose_spark.spec import ReleaseSpec
from tclose_spark.tables import Multiset, quoted, read_delta, write_delta

LOSS = T.DecimalType(38, 9)  # a sum of doubles depends on the partitioning, a sum of decimals does not


@dataclass(frozen=True)
class Evidence:
    """What the run wrote down of its input and its rows, as hashes (see `tables.Multiset`)."""

    input: str
    raw: str
    published: str


@dataclass(frozen=True)
class Verdict:
    """What was found. problems: one line each, empty where all holds; figures: the certificate's; validation: of the
    Great Expectations suite, as JSON.
    """

    problems: tuple[str, ...]
    figures: dict[str, Any]
    validation: str

    @property
    def holds(self) -> bool:
        """Whether everything that was asked holds."""
        return not self.problems


def verify_release(
    release: DataFrame,
    spec: ReleaseSpec,
    profile: Profile,
    hierarchies: Mapping[str, Hierarchy],
    evidence: Evidence,
    classes_path: str,
) -> Verdict:
    """Judges a written release and writes its class table to `classes_path`.

    profile: tells the input's rows and ranges, by which information loss is measured.

    Raises:
        GuaranteeError: if the release cannot be judged: a column too few or too many, or a label that is none.
    """
    _require_columns(release, spec)
    if release.isEmpty():
        raise GuaranteeError("the release has no rows; nothing is published")
    quasi, attributes = _judged_quasi(spec, profile, hierarchies), _judged_attributes(release, spec, hierarchies)
    observation = Observation()
    observed = release.observe(observation, *Multiset.columns([quoted(name) for name in release.columns], "release"))
    try:
        write_delta(class_table(observed, quasi, attributes), classes_path)
    except PySparkException as error:
        if "NoLabelError" in str(error):
            raise GuaranteeError("a published value is no label of its quasi-identifier; nothing is published") from None
        raise
    classes = read_delta(release.sparkSession, classes_path)
    found = Multiset.of(observation.get, "release")
    figures = _figures(classes, spec, attributes, quasi)
    problems = [*_disagreements(evidence, found, profile, figures, attributes), *_violations(figures, spec)]
    expectations = expectations_of(spec, attributes, figures["classes"])
    passed, validation = validate(classes, f"{spec.name}: every class", expectations)
    if not passed:
        problems.append("Great Expectations: an expectation over the class table does not hold")
    return Verdict(
        tuple(problems), {**figures, "fingerprint": str(found), "rows": found.rows, "expectations_evaluated": len(expectations)}, validation
    )


def published_columns(spec: ReleaseSpec) -> dict[str, tuple[str, ...]]:
    """The released columns of each quasi-identifier: itself, or its two bounds."""
    return {
        name: (f"{name}_min", f"{name}_max") if quasi.numeric_output == "bounds" else (name,)
        for name, quasi in spec.attributes.quasi_identifiers.items()
    }


def _require_columns(release: DataFrame, spec: ReleaseSpec) -> None:
    attributes = spec.attributes
    columns = [column for pair in published_columns(spec).values() for column in pair]
    expected = {*columns, *attributes.sensitive_attributes, *attributes.insensitive_attributes}
    for column in attributes.direct_identifiers:
        if column in release.columns:
            raise GuaranteeError(f"the direct identifier {column!r} is in the release; nothing is published")
    if set(release.columns) != expected:
        odd = sorted(expected ^ set(release.columns))
        raise GuaranteeError(f"the release has not the columns that are asked (see {odd[0]!r}); nothing is published")


def _judged_quasi(spec: ReleaseSpec, profile: Profile, hierarchies: Mapping[str, Hierarchy]) -> list[JudgedQuasi]:
    columns = published_columns(spec)
    return [
        JudgedQuasi(
            d.name,
            columns[d.name],
            LabelLoss(
                d.kind != "category",
                Fraction(str(d.high)) - Fraction(str(d.low)),
                d.present,
                hierarchies.get(d.name),
                spec.attributes.quasi_identifiers[d.name].generalization == "set",
            ),
        )
        for d in profile.quasi
    ]


def _judged_attributes(release: DataFrame, spec: ReleaseSpec, hierarchies: Mapping[str, Hierarchy]) -> list[JudgedAttribute]:
    """The sensitive attributes with their distributions over the whole release, counted anew."""
    judged = []
    for name, asked in spec.attributes.sensitive_attributes.items():
        found = release.groupBy(quoted(name).cast("string").alias("value")).count().toArrow()
        counts = dict(zip(found["value"].to_pylist(), found["count"].to_pylist(), strict=True))
        is_text = isinstance(release.schema[name].dataType, T.StringType)
        try:
            domain = sensitive_domain(name, counts, asked, hierarchies.get(name), is_text)
        except InputError as error:
            raise GuaranteeError(f"the release cannot be judged: {error}") from None
        judged.append(JudgedAttribute(name, domain.values, domain.distance(asked, hierarchies.get(name)), asked))
    return judged


def _figures(classes: DataFrame, spec: ReleaseSpec, attributes: Sequence[JudgedAttribute], quasi: Sequence[JudgedQuasi]) -> dict[str, Any]:
    """Everything about the classes in one aggregation, by class size: sizes are few, and exact maxima compare within one."""
    k = spec.privacy.k
    losses = {q.name: F.sum((F.col("losses")[q.name] * F.col("size")).cast(LOSS)) for q in quasi}
    aggregates = [F.count(F.lit(1)).alias("classes"), *[loss.alias(f"loss {name}") for name, loss in losses.items()]]
    for a in attributes:
        aggregates.append(F.max(quoted(a.column("numerator"))).alias(f"numerator {a.name}"))
        aggregates.append(F.sum((quoted(a.column("margin")) < 0).cast("bigint")).alias(f"over {a.name}"))
        aggregates.append(F.min(quoted(a.column("distinct"))).alias(f"distinct {a.name}"))
        if a.asked.l.entropy is not None:
            aggregates.append(F.min(quoted(a.column("entropy"))).alias(f"entropy {a.name}"))
        if a.asked.l.recursive is not None:
            aggregates.append(F.min(quoted(a.column("recursive_margin"))).alias(f"recursive {a.name}"))
    by_size = classes.groupBy("size").agg(*aggregates).toArrow().to_pylist()
    rows = sum(part["size"] * part["classes"] for part in by_size)
    figures: dict[str, Any] = {
        "classes": sum(part["classes"] for part in by_size),
        "class_rows": rows,
        "smallest_class": min(part["size"] for part in by_size),
        "largest_class": max(part["size"] for part in by_size),
        "too_small": sum(part["classes"] for part in by_size if part["size"] < k),
        "discernibility": sum(part["size"] ** 2 * part["classes"] for part in by_size),
        "ncp_by_quasi_identifier": {q.name: float(sum(part[f"loss {q.name}"] for part in by_size)) / rows for q in quasi},
        "attributes": {},
    }
    figures["ncp"] = float(sum(part[f"loss {q.name}"] for q in quasi for part in by_size)) / (rows * len(quasi))
    for a in attributes:
        unit = a.distance.scale * int(a.distance.table.sum())
        worst = max(Fraction(int(part[f"numerator {a.name}"]), unit * part["size"]) for part in by_size)
        entry: dict[str, Any] = {
            "emd": str(worst),
            "over": sum(part[f"over {a.name}"] for part in by_size),
            "distinct": min(part[f"distinct {a.name}"] for part in by_size),
        }
        if a.asked.l.entropy is not None:
            entry["entropy"] = min(part[f"entropy {a.name}"] for part in by_size)
        if a.asked.l.recursive is not None:
            entry["recursive_holds"] = min(part[f"recursive {a.name}"] for part in by_size) > 0
        figures["attributes"][a.name] = entry
    return figures


def _disagreements(
    evidence: Evidence, found: Multiset, profile: Profile, figures: Mapping[str, Any], attributes: Sequence[JudgedAttribute]
) -> list[str]:
    """What speaks against the release being the input, generalized."""
    problems = []
    if evidence.raw != evidence.input or evidence.input != profile.fingerprint:
        problems.append("the rows whose labels were checked while writing are not the input's")
    if str(found) != evidence.published:
        problems.append("the release that is read back is not the one that was written")
    if not found.rows == profile.rows == figures["class_rows"]:
        problems.append(f"{found.rows} rows are released in {figures['class_rows']} rows of classes, of {profile.rows} rows of the input")
    for domain, attribute in zip(profile.sensitive, attributes, strict=True):
        if dict(zip(domain.values, domain.counts, strict=True)) != dict(
            zip(attribute.values, attribute.distance.table.tolist(), strict=True)
        ):
            problems.append(f"{attribute.name}: the released values are not those of the input")
    return problems


def _violations(figures: Mapping[str, Any], spec: ReleaseSpec) -> list[str]:
    """What is asked and does not hold."""
    problems = []
    if figures["too_small"]:
        problems.append(
            f"{figures['too_small']} classes are smaller than k = {spec.privacy.k}; the smallest has {figures['smallest_class']}"
        )
    for name, asked in spec.attributes.sensitive_attributes.items():
        found = figures["attributes"][name]
        if asked.t is not None and (found["over"] or Fraction(found["emd"]) > asked.t):
            problems.append(
                f"{name}: {found['over']} classes are farther than t = {asked.t}; the worst is {float(Fraction(found['emd'])):.6f}"
            )
        if asked.l.distinct is not None and found["distinct"] < asked.l.distinct:
            problems.append(f"{name}: a class has {found['distinct']} distinct values; l (distinct) = {asked.l.distinct}")
        if asked.l.entropy is not None and found["entropy"] < float(asked.l.entropy) - ENTROPY_TOLERANCE:
            problems.append(f"{name}: a class has entropy l = {found['entropy']:.4f}; asked {asked.l.entropy}")
        if asked.l.recursive is not None and not found["recursive_holds"]:
            problems.append(f"{name}: a class is not recursive ({asked.l.recursive.c}, {asked.l.recursive.l})-diverse")
    return problems


def expectations_of(spec: ReleaseSpec, attributes: Sequence[JudgedAttribute], classes: int) -> list[Expectation]:
    """The suite over the class table: all that is asked, fail-closed (see `checks.expectations`)."""
    k = spec.privacy.k
    expectations = [
        expect_rows(classes),
        expect_present("size"),
        expect_at_least("size", k, f"k-anonymity: every class has at least {k} records"),
    ]
    for a in attributes:
        emd, margin, distinct = a.column("emd"), a.column("margin"), a.column("distinct")
        expectations += [expect_present(emd), expect_present(margin), expect_present(distinct)]
        expectations.append(
            expect_at_least(margin, 0, f"t-closeness of {a.name}: EMD <= {a.asked.t or 'any'} in every class, in exact integers")
        )
        expectations.append(expect_at_least(distinct, a.asked.l.distinct or 1, f"distinct l-diversity of {a.name}"))
        if a.asked.l.entropy is not None:
            expectations.append(
                expect_at_least(a.column("entropy"), float(a.asked.l.entropy) - ENTROPY_TOLERANCE, f"entropy l-diversity of {a.name}")
            )
        if a.asked.l.recursive is not None:
            expectations.append(expect_at_least(a.column("recursive_margin"), 0, f"recursive l-diversity of {a.name}", strict=True))
    return expectations
