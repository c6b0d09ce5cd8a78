"""The verifier passes what holds and finds each thing that does not, from the written rows alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from tclose_spark.checks.verifier import Evidence, Verdict, verify_release
from tclose_spark.errors import GuaranteeError
from tclose_spark.run import Run
from tclose_spark.stages.profile import profile_table
from tclose_spark.tables import Multiset, quoted, read_table

Record = tuple[Any, ...]

# name, age, disease: one of two is flu
PEOPLE: list[Record] = [
    ("Ann", 21, "flu"),
    ("Bob", 24, "flu"),
    ("Cid", 27, "gout"),
    ("Dan", 29, "gout"),
    ("Eve", 32, "flu"),
    ("Fay", 34, "flu"),
    ("Gus", 37, "gout"),
    ("Hal", 38, "gout"),
]

# age, disease: two classes of four, each with the table's distribution
RELEASE: list[Record] = [("[21, 29]", disease) for _, _, disease in PEOPLE[:4]] + [("[32, 38]", disease) for _, _, disease in PEOPLE[4:]]


@pytest.fixture
def judge(spark: SparkSession, make_run: Callable[..., Run], tmp_path: Path) -> Callable[..., Verdict]:
    """`judge(release, k=..., disease={...}, written=...)`: the verdict on a release of PEOPLE.

    written: what the run observed while writing, where that is something else than what is read back.
    """

    def judge_release(
        release: Sequence[Record],
        k: int = 4,
        written: Sequence[Record] | None = None,
        raw: str | None = None,
        schema: str = "age string, disease string",
        **disease: Any,
    ) -> Verdict:
        columns = dict(zip(("name", "age", "disease"), map(list, zip(*PEOPLE, strict=True)), strict=True))
        settings = {"quasi": {"age": {"type": "numeric"}}, "sensitive": {"disease": disease}, "direct_identifiers": ["name"]}
        run = make_run(columns, k=k, **settings)
        profile = profile_table(read_table(spark, run.spec.input), run.spec, {})
        table = spark.createDataFrame(list(release), schema)
        seen = table if written is None else spark.createDataFrame(list(written), schema)
        evidence = Evidence(profile.fingerprint, raw or profile.fingerprint, fingerprint(seen))
        return verify_release(table, run.spec, profile, {}, evidence, str(tmp_path / "classes"))

    return judge_release


def fingerprint(table: DataFrame) -> str:
    figures = table.agg(*Multiset.columns([quoted(name) for name in table.columns], "x")).head()
    assert figures is not None
    return str(Multiset.of(figures, "x"))


def changed(places: dict[int, Record], rows: Sequence[Record] = RELEASE) -> list[Record]:
    """The release with some rows replaced."""
    return [places.get(i, row) for i, row in enumerate(rows)]


def one_problem(verdict: Verdict, *parts: str) -> None:
    """Exactly one problem, beside what Great Expectations says of it, and it has all parts."""
    assert not verdict.holds
    (problem,) = [line for line in verdict.problems if not line.startswith("Great Expectations")]
    assert all(part in problem for part in parts), problem


def test_a_release_that_holds(judge: Callable[..., Verdict], spark: SparkSession, tmp_path: Path) -> None:
    verdict = judge(RELEASE, t="0.0001", l={"distinct": 2})
    assert verdict.problems == ()
    figures = verdict.figures
    assert (figures["rows"], figures["classes"], figures["smallest_class"], figures["largest_class"]) == (8, 2, 4, 4)
    assert figures["discernibility"] == 32
    assert figures["attributes"] == {"disease": {"emd": "0", "over": 0, "distinct": 2}}
    assert figures["ncp"] == pytest.approx((8 / 17 + 6 / 17) / 2)
    assert figures["fingerprint"] == fingerprint(spark.createDataFrame(RELEASE, "age string, disease string"))
    classes = spark.read.format("delta").load(str(tmp_path / "classes"))
    assert sorted(tuple(row) for row in classes.select("quasi_identifiers.age", "size").collect()) == [("[21, 29]", 4), ("[32, 38]", 4)]


def test_equal_labels_are_one_class(judge: Callable[..., Verdict]) -> None:
    verdict = judge([("*", disease) for _, disease in RELEASE], k=8)
    assert verdict.holds
    assert (verdict.figures["classes"], verdict.figures["ncp"]) == (1, 1.0)


# --- what is asked and does not hold


def test_a_class_of_k_minus_one(judge: Callable[..., Verdict]) -> None:
    verdict = judge(changed({3: ("[32, 38]", "gout")}), k=4)
    one_problem(verdict, "1 classes are smaller than k = 4; the smallest has 3")
    assert "Great Expectations" in verdict.problems[-1]


FAR = changed({0: ("[21, 29]", "gout"), 6: ("[32, 38]", "flu")})  # 1 flu of 4, and 3 of 4: a quarter from 1/2


def test_an_emd_that_equals_t_holds(judge: Callable[..., Verdict]) -> None:
    verdict = judge(FAR, t="0.25")
    assert verdict.holds
    assert Fraction(verdict.figures["attributes"]["disease"]["emd"]) == Fraction(1, 4)


def test_an_emd_over_t(judge: Callable[..., Verdict]) -> None:
    verdict = judge(FAR, t="0.2499999999999999999999")
    one_problem(verdict, "disease: 2 classes are farther than t", "the worst is 0.25")
    assert "Great Expectations" in verdict.problems[-1]


def test_an_emd_over_t_by_one_record(judge: Callable[..., Verdict]) -> None:
    further = changed({1: ("[21, 29]", "gout"), 7: ("[32, 38]", "flu")}, FAR)
    one_problem(judge(further, t="0.25"), "disease: 2 classes are farther than t = 1/4; the worst is 0.5")


def test_an_ordered_emd_over_t(judge: Callable[..., Verdict]) -> None:
    asked = {"distance": "ordered", "order": ["flu", "cold", "gout"]}  # nobody has a cold, it counts all the same
    assert judge(FAR, t="0.25", **asked).holds
    one_problem(judge(FAR, t="0.24", **asked), "disease: 2 classes are farther than t")


def test_distinct_l_one_short(judge: Callable[..., Verdict]) -> None:
    pure = [("[21, 29]", "flu")] * 4 + [("[32, 38]", "gout")] * 4
    one_problem(judge(pure, l={"distinct": 2}), "disease: a class has 1 distinct values; l (distinct) = 2")


def test_entropy_l_short(judge: Callable[..., Verdict]) -> None:
    assert judge(FAR, l={"entropy": "1.75"}).holds  # exp of the entropy of 1/4, 3/4 is 1.7548
    one_problem(judge(FAR, l={"entropy": "1.76"}), "disease: a class has entropy l = 1.7548; asked")


def test_recursive_l_short(judge: Callable[..., Verdict]) -> None:
    assert judge(FAR, l={"recursive": {"c": "3.001", "l": 2}}).holds  # 3 < c * 1
    one_problem(judge(FAR, l={"recursive": {"c": 3, "l": 2}}), "disease: a class is not recursive (3, 2)-diverse")


# --- rows that are not the input's


def test_a_row_lost_after_it_was_written(judge: Callable[..., Verdict]) -> None:
    verdict = judge(RELEASE[:7], k=3, written=RELEASE)
    assert any("read back is not the one that was written" in problem for problem in verdict.problems)
    assert any("7 rows are released" in problem for problem in verdict.problems)


def test_a_row_lost_before_it_was_written(judge: Callable[..., Verdict]) -> None:
    verdict = judge(RELEASE[:7], k=3)
    assert any("7 rows are released in 7 rows of classes, of 8 rows of the input" in problem for problem in verdict.problems)


def test_a_row_doubled(judge: Callable[..., Verdict]) -> None:
    verdict = judge([*RELEASE, RELEASE[0]], written=RELEASE)
    assert any("9 rows are released" in problem for problem in verdict.problems)


def test_a_row_doubled_for_another_that_is_lost(judge: Callable[..., Verdict]) -> None:
    """The number of rows is right, and so are the values: only the hashes tell."""
    verdict = judge(changed({0: RELEASE[4]}), k=3, written=RELEASE)
    one_problem(verdict, "read back is not the one that was written")


def test_a_sensitive_value_altered(judge: Callable[..., Verdict]) -> None:
    one_problem(judge(changed({0: ("[21, 29]", "gout")})), "disease: the released values are not those of the input")


def test_a_sensitive_value_that_the_input_does_not_have(judge: Callable[..., Verdict]) -> None:
    assert not judge(changed({0: ("[21, 29]", "mumps")})).holds


def test_sensitive_values_exchanged_between_classes(judge: Callable[..., Verdict]) -> None:
    one_problem(judge(FAR, written=RELEASE), "read back is not the one that was written")


def test_labels_checked_against_other_rows_than_the_input_s(judge: Callable[..., Verdict]) -> None:
    one_problem(judge(RELEASE, raw="8-0000000000000000"), "the rows whose labels were checked while writing are not the input's")


# --- what is no release of this run


def test_an_extra_column(judge: Callable[..., Verdict]) -> None:
    with pytest.raises(GuaranteeError, match=r"the release has not the columns that are asked \(see 'zip'\)"):
        judge([(*row, "12345") for row in RELEASE], schema="age string, disease string, zip string")


def test_a_column_less(judge: Callable[..., Verdict]) -> None:
    with pytest.raises(GuaranteeError, match="see 'age'"):
        judge([(disease,) for _, disease in RELEASE], schema="disease string")


def test_a_direct_identifier(judge: Callable[..., Verdict]) -> None:
    with pytest.raises(GuaranteeError, match="the direct identifier 'name' is in the release"):
        judge([(*row, "Ann") for row in RELEASE], schema="age string, disease string, name string")


def test_a_label_that_is_none(judge: Callable[..., Verdict]) -> None:
    with pytest.raises(Exception, match=r"21 to 29|GuaranteeError|ValueError"):
        judge(changed({0: ("21 to 29", "flu")}), k=1)


def test_no_rows_at_all(judge: Callable[..., Verdict], spark: SparkSession) -> None:
    with pytest.raises(GuaranteeError):
        judge([])
