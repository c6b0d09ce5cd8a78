"""The verifier passes what holds and finds each thing that does not, from the written rows
alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from strategies import make_profile

from tclose_spark.checks import verifier
from tclose_spark.checks.released import input_listing
from tclose_spark.checks.verifier import Verdict, verify_release
from tclose_spark.checks.warnings import _fewest_rows
from tclose_spark.checks.written import Evidence, WrittenRelease
from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import read_rows
from tclose_spark.errors import GuaranteeError
from tclose_spark.io.run_state import WrittenRecord
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.writing import listing

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
RELEASE: list[Record] = [("[21, 29]", disease) for _, _, disease in PEOPLE[:4]] + [
    ("[32, 38]", disease) for _, _, disease in PEOPLE[4:]
]


INPUT = "8-0123456789abcdef"

# four more, as close to the table as the classes; not released
LEFT: list[Record] = [
    ("Ida", 61, "flu"),
    ("Jon", 64, "flu"),
    ("Kim", 67, "gout"),
    ("Leo", 69, "gout"),
]
Judge = Callable[..., Verdict]


def arrow_of(rows: Sequence[Record], columns: Sequence[str]) -> pa.Table:
    return pa.table(
        [pa.array(column, pa.string()) for column in zip(*rows, strict=True)],
        names=list(columns),
    )


def fingerprint(rows: Sequence[Record], columns: Sequence[str]) -> str:
    return str(
        Fingerprint.of([column.combine_chunks() for column in arrow_of(rows, columns).columns]),
    )


@pytest.fixture
def judge(
    session: Session,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Judge:
    """`judge(release, k=..., disease={...}, written=...)`: the verdict on a release of PEOPLE.

    written: what the run observed while writing, where that is something else than what is read
        back.
    raw: the hash of the rows whose labels were checked.
    great_expectations: whether they are asked too (it takes a second).
    left: people of the input who are not in the release.
    sex: whether it is a quasi-identifier as well.
    """

    def judge_release(
        release: Sequence[Record],
        k: int = 4,
        columns: Sequence[str] = ("age", "disease"),
        written: Sequence[Record] | None = None,
        raw: str = INPUT,
        great_expectations: bool = False,
        left: Sequence[Record] = (),
        privacy: dict[str, Any] | None = None,
        sex: bool = False,
        **disease: Any,
    ) -> Verdict:
        asked = {
            "quasi_identifiers": {
                "age": {"type": "numeric"},
                **({"sex": {"type": "categorical"}} if sex else {}),
            },
            "sensitive_attributes": {"disease": {"t": "measure", **disease}},
            "direct_identifiers": ["name"],
        }
        spec = ReleaseSpec.model_validate(
            {
                "name": "people",
                "input": {"path": "people"},
                "output": {"path": "out"},
                "attributes": asked,
                "privacy": {"k": k, **(privacy or {})},
                "method": {"name": "stack_and_deal"},
            },
        )
        people = [{"age": age, "sex": "f", "disease": value} for _, age, value in [*PEOPLE, *left]]
        profile = make_profile(people, spec, {})
        if not great_expectations:
            monkeypatch.setattr(
                verifier,
                "validate",
                lambda *_: SimpleNamespace(passed=True, failures=()),
            )
        folder = tmp_path_factory.mktemp("judged")
        (folder / "release").mkdir()
        rows = arrow_of(release, columns)
        pq.write_table(rows, folder / "release/part.parquet", store_schema=False)
        table = read_rows(session, str(folder / "release"), rows.schema)
        known = INPUT.replace("8", f"{len(PEOPLE) + len(left):x}", 1)
        raw = known if raw == INPUT else raw
        published = fingerprint(release if written is None else written, columns)
        evidence = Evidence(known, WrittenRecord(raw=raw, published=published))
        written_release = WrittenRelease(
            release=(table, str(folder / "release")),
            spec=spec,
            profile=replace(profile, fingerprint=known),
            hierarchies={},
            evidence=evidence,
            classes=str(folder / "classes"),
        )
        return verify_release(written_release)

    return judge_release


def changed(places: dict[int, Record], rows: Sequence[Record] = RELEASE) -> list[Record]:
    """The release with some rows replaced."""
    return [places.get(i, row) for i, row in enumerate(rows)]


def one_problem(verdict: Verdict, *parts: str) -> None:
    """Exactly one problem, beside what Great Expectations says of it, and it has all parts."""
    assert not verdict.holds
    (problem,) = [line for line in verdict.problems if not line.startswith("Great Expectations")]
    assert all(part in problem for part in parts), problem


MEASURED = {
    **{key: {"classes": 0, "rows": 0} for key in ("homogeneous", "similar", "unlike")},
    "reached": {
        "t": {"achieved": "0", "holds": True},
        "distinct": {"achieved": 2, "holds": True},
        **{key: {"achieved": 2.0, "holds": True} for key in ("entropy", "frequency")},
        **{key: {"achieved": 0.0, "holds": True} for key in ("beta", "delta", "divergence")},
    },
}
"""Of classes with the distribution of the table, of two values."""


@pytest.mark.on_spark
def test_a_release_that_holds(judge: Judge) -> None:
    verdict = judge(RELEASE, t="0.0001", l={"distinct": 2}, great_expectations=True)
    assert verdict.problems == ()
    figures = verdict.figures.to_json()
    assert (
        figures["rows"],
        figures["classes"],
        figures["smallest_class"],
        figures["largest_class"],
    ) == (8, 2, 4, 4)
    assert figures["discernibility"] == 32
    assert figures["attributes"] == {
        "disease": {
            **MEASURED,
            "domain": {"size": 2, "values": ["flu", "gout"]},
            "unused": {"size": 0, "values": []},
        },
    }
    assert figures["ncp"] == pytest.approx((8 / 17 + 6 / 17) / 2)
    assert figures["fingerprint"] == fingerprint(RELEASE, ("age", "disease"))


def test_equal_labels_are_one_class(judge: Judge) -> None:
    verdict = judge([("*", disease) for _, disease in RELEASE], k=8)
    assert verdict.holds
    assert (verdict.figures.to_json()["classes"], verdict.figures.to_json()["ncp"]) == (1, 1.0)


# --- what is public follows from what is published


ROUNDED = [("[20, 30]", disease) for _, _, disease in PEOPLE[:4]] + [
    ("[30, 40]", disease) for _, _, disease in PEOPLE[4:]
]
HIDDEN = [*RELEASE[:4], *[("*", disease) for _, _, disease in PEOPLE[4:]]]


@pytest.mark.parametrize(
    ("release", "span", "by_input"),
    [(ROUNDED, "20", 10 / 17), (HIDDEN, "8", (8 / 17 + 1) / 2)],
    ids=["rounded outward", "an extreme is only under *"],
)
def test_the_range_is_that_of_the_labels(
    judge: Judge,
    release: list[Record],
    span: str,
    by_input: float,
) -> None:
    """The input's ages are 21 to 38; nothing public is measured on that."""
    figures = judge(release).figures.to_json()
    assert figures["quasi_identifiers"] == {"age": {"span": span}}
    widths = (
        [Fraction(10, 20), Fraction(10, 20)] if release is ROUNDED else [Fraction(1), Fraction(1)]
    )
    assert figures["ncp"] == figures["ncp_by_quasi_identifier"]["age"] == float(sum(widths) / 2)
    assert (
        figures["by_input"]["ncp"]
        == figures["by_input"]["ncp_by_quasi_identifier"]["age"]
        == pytest.approx(by_input)
    )


def test_people_of_whom_a_value_is_certain_are_counted(judge: Judge) -> None:
    figures = judge(
        [("[21, 29]", "flu")] * 4 + [("[32, 38]", d) for d in ("gout", "gout", "gout", "flu")],
        t="0.9",
    ).figures.to_json()
    assert figures["attributes"]["disease"]["homogeneous"] == {"classes": 1, "rows": 4}
    assert figures["warnings"] == []


WARNED = {
    "one value": (
        [(age, "flu") for age, _ in RELEASE],
        {},
        ["disease: all rows have one value, which is certain for everybody"],
    ),
    "missing everywhere": (
        [(age, None) for age, _ in RELEASE],
        {},
        ["disease: missing in all rows, so it has no information"],
    ),
    "nearly unique, missing being one value": (
        [
            (age, value)
            for (age, _), value in zip(
                RELEASE,
                ["a", "b", "c", "d", None, None, "a", "b"],
                strict=True,
            )
        ],
        {},
        [
            "disease: nearly unique, 5 values in 8 rows; an adversary who knows a person's value "
            "finds the record and its other columns",
        ],
    ),
    "one value for two rows is not": (
        [
            (age, value)
            for (age, _), value in zip(
                RELEASE,
                ["a", "b", "c", None, None, None, "a", "b"],
                strict=True,
            )
        ],
        {},
        [],
    ),
    "spellings and *": (
        [("*", value) for value in ("flu", "FLU", "flu ", "gout")] * 2,
        {},
        [
            "age: the published value is * in all rows",
            "disease: 2 of 4 values differ from another by case",
            "all rows are in one class",
        ],
    ),
    "an order with values that no row has": (
        RELEASE,
        {"distance": "ordered", "order": ["flu", "cold", "mumps", "gout"]},
        ["disease: 2 of the 4 values of its order are in no row; they can make distances smaller"],
    ),
}


@pytest.mark.parametrize("name", WARNED)
def test_what_is_worth_a_second_look(judge: Judge, name: str) -> None:
    release, asked, expected = WARNED[name]
    warnings = judge(release, **asked).figures.to_json()["warnings"]
    assert [line[: len(start)] for line, start in zip(warnings, expected, strict=True)] == expected


# --- a release that is nearly useless

FOUR = ("flu", "flu", "gout", "gout")
WIDE: list[Record] = [("[20, 40]", disease) for disease in FOUR]  # the span of all labels
EXACT: list[Record] = [("20", disease) for disease in FOUR]


def test_a_loss_of_half_is_no_warning(judge: Judge) -> None:
    found = judge(WIDE + EXACT, t="0.5").figures.to_json()
    assert (found["ncp"], found["warnings"]) == (0.5, [])


def test_a_loss_above_half_has_its_cause(judge: Judge) -> None:
    release = [*WIDE, ("[20, 40]", "flu"), *EXACT[1:]]
    useless = "the table is nearly useless: NCP is 0.6250; "
    emd = Fraction(1, 6)  # 1 flu of 3, and 4 of 8
    assert (
        Fraction(
            judge(release, k=3, t="0.18").figures.attributes["disease"].reached["t"]["achieved"],
        )
        == emd
    )
    assert judge(release, k=3, t="0.18").figures.to_json()["warnings"] == [
        f"{useless}t of disease is binding (0.1667 of 0.18); a larger t or fewer quasi-identifiers "
        "may preserve more",
    ]
    assert judge(release, k=3, t="0.19").figures.to_json()["warnings"] == [
        f"{useless}no t is near its limit; fewer quasi-identifiers or a smaller k may preserve more",
    ]
    assert judge(release, k=3).figures.to_json()["warnings"] == [
        f"{useless}fewer quasi-identifiers or a smaller k may preserve more",
    ]


@pytest.mark.parametrize(
    ("values", "k", "settings", "cause"),
    [
        (
            21,
            4,
            {"t": "0.2"},
            "t of disease needs at least 17 rows in each class, because its 21 values are equally",
        ),
        (20, 4, {"t": "0.2"}, "no t is near its limit"),
        (21, 17, {"t": "0.2"}, "no t is near its limit"),  # k requires as many rows anyway
        (
            21,
            4,
            {"t": "0.2", "distance": "ordered", "order": "frequency"},
            "no t is near its limit",
        ),
    ],
)
def test_many_values_that_are_equally_far_apart_need_many_rows(
    judge: Judge,
    values: int,
    k: int,
    settings: dict[str, str],
    cause: str,
) -> None:
    names = [f"{10 + i}" for i in range(values)]
    release = [(age, name) for age in ("[20, 40]", "[21, 40]") for name in names]
    warnings = judge(release, k=k, **settings).figures.to_json()["warnings"]
    assert [
        line.partition("; ")[2][: len(cause)] for line in warnings if "nearly useless" in line
    ] == [cause]


def test_fewer_rows_than_the_bound_are_never_within_t() -> None:
    counts = np.array([9, 7, 5, 4, *[1] * 25])
    judged = JudgedAttribute(
        "disease",
        tuple(map(str, range(29))),
        EqualDistance(counts),
        SensitiveAttribute.model_validate({"t": "0.4"}),
    )
    rows = _fewest_rows(judged, Fraction(2, 5))
    covered = np.sort(counts)[::-1].cumsum() / counts.sum()
    assert 1 - covered[rows - 1] <= 0.4 < 1 - covered[rows - 2]


def starred(rows: int) -> list[Record]:
    """Eight rows, of which the sex is * in some."""
    return [("30", "*" if i < rows else "f", FOUR[i % 4]) for i in range(8)]


def test_a_quasi_identifier_that_is_a_star_in_most_rows(judge: Judge) -> None:
    columns = ("age", "sex", "disease")
    assert judge(starred(4), sex=True, columns=columns).figures.to_json()["warnings"] == []
    found = judge(starred(5), k=3, sex=True, columns=columns).figures.to_json()
    assert found["ncp"] < 0.5
    assert found["warnings"] == [
        "sex: the published value is * in 5 of 8 rows; give it a hierarchy or generalization: "
        "set, or leave it out",
    ]


def test_one_class_has_one_warning_with_its_cause(judge: Judge) -> None:
    columns = ("age", "sex", "disease")
    release = [("*", "*", disease) for disease in FOUR * 2]
    assert judge(release, t="0.3", sex=True, columns=columns).figures.to_json()["warnings"] == [
        "age, sex: the published value is * in all rows",
        "all rows are in one class: the quasi-identifiers distinguish nobody, and the table is "
        "nearly useless; a larger t or fewer quasi-identifiers may preserve more",
    ]


# --- what is asked and does not hold


def test_a_class_of_k_minus_one(judge: Judge) -> None:
    verdict = judge(changed({3: ("[32, 38]", "gout")}), k=4, great_expectations=True)
    one_problem(verdict, "1 classes (3 rows) are smaller than k = 4; the smallest has 3")
    assert verdict.problems[1:] == (
        "Great Expectations: k-anonymity: every class has at least 4 records: 1 class breaks it",
    )


FAR = changed(
    {0: ("[21, 29]", "gout"), 6: ("[32, 38]", "flu")},
)  # 1 flu of 4, and 3 of 4: a quarter from 1/2


def test_an_emd_that_equals_t_holds(judge: Judge) -> None:
    verdict = judge(FAR, t="0.25")
    assert verdict.holds
    assert Fraction(verdict.figures.attributes["disease"].reached["t"]["achieved"]) == Fraction(
        1,
        4,
    )


def test_an_emd_over_t(judge: Judge) -> None:
    verdict = judge(FAR, t="0.2499999999999999999999", great_expectations=True)
    one_problem(verdict, "disease: 2 classes (8 rows) are farther than t", "the worst is 0.25")
    exactly = (
        "t-closeness of disease: EMD <= 2499999999999999999999/10000000000000000000000 in every "
        "class, in exact integers"
    )
    assert verdict.problems[1:] == (
        f"Great Expectations: {exactly}: 2 classes break it",
    )  # as doubles, both are 1/4


def test_an_emd_over_t_by_one_record(judge: Judge) -> None:
    further = changed({1: ("[21, 29]", "gout"), 7: ("[32, 38]", "flu")}, FAR)
    one_problem(
        judge(further, t="0.25"),
        "disease: 2 classes (8 rows) are farther than t = 1/4; the worst is 0.5",
    )


def test_an_ordered_emd_over_t(judge: Judge) -> None:
    asked = {
        "distance": "ordered",
        "order": ["flu", "cold", "gout"],
    }  # nobody has a cold, it counts all the same
    assert judge(FAR, t="0.25", **asked).holds
    one_problem(judge(FAR, t="0.24", **asked), "disease: 2 classes (8 rows) are farther than t")


def test_distinct_l_one_short(judge: Judge) -> None:
    pure = [("[21, 29]", "flu")] * 4 + [("[32, 38]", "gout")] * 4
    one_problem(
        judge(pure, l={"distinct": 2}),
        "disease: 2 classes (8 rows) have less distinct l-diversity than 2; the worst has 1",
    )


def test_entropy_l_short(judge: Judge) -> None:
    assert judge(FAR, l={"entropy": "1.75"}).holds  # exp of the entropy of 1/4, 3/4 is 1.7548
    one_problem(
        judge(FAR, l={"entropy": "1.76"}),
        "disease: 2 classes (8 rows) have less entropy l-diversity than 44/25; the worst has "
        "1.75477",
    )


def test_recursive_l_short(judge: Judge) -> None:
    assert judge(FAR, l={"recursive": {"c": "3.001", "l": 2}}).holds  # 3 < c * 1
    one_problem(
        judge(FAR, l={"recursive": {"c": 3, "l": 2}}),
        "disease: 2 classes (8 rows) are not recursive (3, 2)-diverse",
    )


# --- rows that are not the input's


@pytest.mark.on_spark
def test_a_row_lost_after_it_was_written(judge: Judge) -> None:
    verdict = judge(RELEASE[:7], k=3, written=RELEASE)
    assert any(
        "read back differs from the release that was written" in problem
        for problem in verdict.problems
    )
    assert any("7 rows are released" in problem for problem in verdict.problems)


def test_a_row_lost_before_it_was_written(judge: Judge) -> None:
    verdict = judge(RELEASE[:7], k=3)
    assert any(
        "7 rows are released and 7 are in classes, of 8 rows of the input" in problem
        for problem in verdict.problems
    )


def test_a_row_doubled(judge: Judge) -> None:
    verdict = judge([*RELEASE, RELEASE[0]], written=RELEASE)
    assert any("9 rows are released" in problem for problem in verdict.problems)


def test_a_row_doubled_for_another_that_is_lost(judge: Judge) -> None:
    """The number of rows is right, and so are the values: only the hashes tell."""
    verdict = judge(changed({0: RELEASE[4]}), k=3, written=RELEASE)
    one_problem(verdict, "read back differs from the release that was written")


def test_a_sensitive_value_altered(judge: Judge) -> None:
    one_problem(
        judge(changed({0: ("[21, 29]", "gout")})),
        "disease: the released values differ from those of the input",
    )


def test_a_sensitive_value_that_the_input_does_not_have(judge: Judge) -> None:
    assert not judge(changed({0: ("[21, 29]", "mumps")})).holds


def test_sensitive_values_exchanged_between_classes(judge: Judge) -> None:
    one_problem(judge(FAR, written=RELEASE), "read back differs from the release that was written")


def test_labels_checked_against_other_rows_than_the_input_s(judge: Judge) -> None:
    one_problem(
        judge(RELEASE, raw="8-0000000000000000"),
        "the rows whose labels were checked during the write are not the rows of the input",
    )


# --- rows that are left out


THIRD = {"suppression_limit": "1/3"}
RELEASED = {**THIRD, "of": "released"}


@pytest.mark.on_spark
def test_suppressed_rows_are_a_class(judge: Judge) -> None:
    verdict = judge(
        RELEASE,
        left=LEFT,
        privacy=THIRD,
        t="0.0001",
        l={"distinct": 2},
        great_expectations=True,
    )
    assert verdict.problems == ()
    figures = verdict.figures.to_json()
    assert (figures["rows"], figures["classes"], figures["smallest_class"]) == (8, 2, 4)
    assert figures["suppressed"] == {"rows": 4, "attributes": {"disease": MEASURED}}
    assert figures["attributes"]["disease"] == {
        **MEASURED,
        "domain": {"size": 2, "values": ["flu", "gout"]},
        "unused": {"size": 0, "values": []},
        "input": {"size": 2, "counts": [6, 6]},
    }


def test_a_suppressed_row_loses_all(judge: Judge) -> None:
    figures = judge(RELEASE, left=LEFT, privacy=THIRD).figures.to_json()
    assert (
        figures["ncp"]
        == figures["ncp_by_quasi_identifier"]["age"]
        == pytest.approx((4 * 8 / 17 + 4 * 6 / 17 + 4) / 12)
    )
    assert figures["by_input"]["ncp"] == pytest.approx((4 * 8 / 48 + 4 * 6 / 48 + 4) / 12)
    assert figures["discernibility"] == 2 * 4**2 + 4 * 12


@pytest.mark.parametrize("of", ["input", "released"])
def test_more_rows_left_out_than_the_limit_allows(judge: Judge, of: str) -> None:
    one_problem(
        judge(RELEASE, left=LEFT, privacy={"suppression_limit": "0.333", "of": of}),
        "8 rows are released and 8 are in classes, of 12 rows of the input",
        "4 are suppressed, and privacy.suppression_limit allows 3",
    )


BROKEN: dict[str, tuple[list[Record], dict[str, Any], str]] = {
    "k": (LEFT[1:], {}, "are smaller than k = 4; the smallest has 3"),
    # flu: 4 of 12 in the table, 1 of 2 in the classes, which are 1/6 away; none of the suppressed,
    #     which are 1/3 away
    "t": (
        [(name, age, "gout") for name, age, _ in LEFT],
        {"t": "0.25"},
        "farther than t = 1/4; the worst is 0.333333",
    ),
    "l": (
        [(name, age, "flu") for name, age, _ in LEFT],
        {"l": {"distinct": 2}},
        "have less distinct l-diversity than 2; the worst has 1",
    ),
    "recursive l": (
        [*LEFT[1:], ("Mia", 63, "gout")],
        {"l": {"recursive": {"c": 2, "l": 2}}},
        "are not recursive (2, 2)-diverse",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_suppressed_rows_that_are_no_class(judge: Judge, what: str) -> None:
    left, required, message = BROKEN[what]
    broken = judge(RELEASE, left=left, privacy=THIRD, **required)
    one_problem(
        broken,
        "the suppressed rows, a class whose distribution follows from the certificate",
        message,
    )
    told = judge(RELEASE, left=left, privacy=RELEASED, **required)
    assert told.holds
    assert told.figures.to_json()["suppressed"] == {"rows": len(left)}
    assert "input" not in told.figures.to_json()["attributes"]["disease"]
    assert told.figures.to_json()["attributes"]["disease"]["reached"]["t"]["achieved"] == "0"


RARE = [*LEFT[:3], ("Leo", 69, "mumps")]


def test_a_value_that_only_suppressed_rows_have(judge: Judge) -> None:
    found = judge(RELEASE, left=RARE, privacy=THIRD).figures.to_json()["attributes"]["disease"]
    assert (found["domain"]["values"], found["unused"]["values"]) == (
        ["flu", "gout", "mumps"],
        ["mumps"],
    )
    assert found["input"]["counts"] == [6, 5, 1]
    assert found["reached"]["t"]["achieved"] == "1/12"  # 1/2, 1/2, 0 from 6/12, 5/12, 1/12
    told = judge(RELEASE, left=RARE, privacy=RELEASED).figures.to_json()
    assert told["attributes"]["disease"]["domain"]["values"] == ["flu", "gout"]
    assert told["attributes"]["disease"]["reached"]["t"]["achieved"] == "0"
    assert "mumps" not in json.dumps(told)


def test_a_listed_value_that_only_suppressed_rows_have_is_reported_like_one_that_nobody_has(
    judge: Judge,
) -> None:
    order = {"distance": "ordered", "order": ["flu", "cold", "gout", "mumps"]}
    found = judge(RELEASE, left=RARE, privacy=RELEASED, **order).figures.to_json()
    assert found["attributes"]["disease"]["unused"]["values"] == ["cold", "mumps"]
    assert found["warnings"][0] == (
        "disease: 2 of the 4 values of its order are in no row; they can make distances smaller"
    )


def test_more_rows_of_a_value_than_the_input_has(judge: Judge) -> None:
    gout = [(age, "gout") for age, _ in RELEASE]
    one_problem(
        judge(gout, left=LEFT, privacy=THIRD),
        "disease: the released values differ from those of the input",
    )
    rare = judge(changed({0: ("[21, 29]", "mumps")}), left=LEFT, privacy=THIRD)
    one_problem(rare, "disease: the released values differ from those of the input")


def test_with_nothing_suppressed_the_release_has_the_distribution(judge: Judge) -> None:
    figures = judge(RELEASE, privacy=THIRD).figures.to_json()
    assert figures["suppressed"] == {"rows": 0}
    assert "input" not in figures["attributes"]["disease"]


def test_a_long_distribution_is_a_hash_beside_the_suppressed_values() -> None:
    values = tuple(f"{i:04}" for i in range(1001))
    counts = np.arange(1001) + 1
    attribute = JudgedAttribute("pay", values, EqualDistance(counts), SensitiveAttribute())
    told = input_listing(attribute, {"0900": 3, "0007": 8})
    assert told == {**listing(counts.tolist()), "suppressed": [["0007", 8], ["0900", 3]]}


# --- what is no release of this run


def test_an_extra_column(judge: Judge) -> None:
    with pytest.raises(
        GuaranteeError,
        match=r"columns of the release are missing or unexpected, the first is 'zip'",
    ):
        judge([(*row, "12345") for row in RELEASE], columns=("age", "disease", "zip"))


def test_a_column_less(judge: Judge) -> None:
    with pytest.raises(GuaranteeError, match="the first is 'age'"):
        judge([(disease,) for _, disease in RELEASE], columns=("disease",))


def test_a_direct_identifier(judge: Judge) -> None:
    with pytest.raises(GuaranteeError, match="the direct identifier 'name' is in the release"):
        judge([(*row, "Ann") for row in RELEASE], columns=("age", "disease", "name"))


def test_a_label_that_is_none(judge: Judge) -> None:
    with pytest.raises(GuaranteeError):
        judge(changed({0: ("21 to 29", "flu")}), k=2)


@pytest.mark.on_spark
def test_no_rows_at_all(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = arrow_of(RELEASE, ("age", "disease")).slice(0, 0)
    monkeypatch.setattr(
        pq,
        "write_table",
        partial(lambda write, _, *where, **how: write(empty, *where, **how), pq.write_table),
    )
    with pytest.raises(GuaranteeError, match="the release has no rows"):
        judge(RELEASE)


# --- (n, t)-closeness: flu below 30, gout above
HALVES: list[Record] = [
    (label, disease)
    for label, disease in (
        ("[21, 24]", "flu"),
        ("[27, 29]", "flu"),
        ("[32, 34]", "gout"),
        ("[37, 38]", "gout"),
    )
    for _ in range(2)
]


def test_classes_that_are_near_to_a_part_of_the_table_hold_nt_closeness(judge: Judge) -> None:
    one_problem(
        judge(HALVES, k=2, t="0.1"),
        "disease: 4 classes (8 rows) are farther than t = 1/10",
    )
    verdict = judge(HALVES, k=2, t="0.1", privacy={"nt": {"n": 4}}, great_expectations=True)
    assert verdict.problems == ()
    found = {"achieved": 0.0, "classes": {"whole_table": 0, "itself": 0, "superset": 4}}
    assert verdict.figures.to_json()["near"] == {"disease": found}
    assert (
        verdict.figures.attributes["disease"].reached["t"]["achieved"] == "1/2"
    )  # from the whole table: told
    wide = [(("[21, 29]" if disease == "flu" else "[32, 38]"), disease) for _, disease in HALVES]
    by_itself = judge(wide, k=2, t="0.1", privacy={"nt": {"n": 4}}).figures.to_json()["near"][
        "disease"
    ]
    assert by_itself["classes"] == {"whole_table": 0, "itself": 2, "superset": 0}


def test_labels_that_lie_in_a_wider_one_count_in_its_supersets(judge: Judge) -> None:
    """Ten of 20 to 29 with flu, a hundred of 22 to 25 without: all supersets of the ten hold the
    hundred.
    """
    inside, beside = [[(age, sex, "none") for sex in "fm"] * 50 for age in ("[22, 25]", "[40, 49]")]
    release = [("[20, 29]", sex, "flu") for sex in "fm"] * 5 + inside + beside
    asked: dict[str, Any] = {"k": 5, "columns": ("age", "sex", "disease"), "t": "0.1", "sex": True}
    verdict = judge(release, privacy={"nt": {"n": 10}}, **asked)
    (line,) = [
        line for line in verdict.problems if "superset" in line and not line.startswith("Great")
    ]
    assert line.startswith(
        "disease: 2 classes (10 rows) are not near any natural superset that was tried",
    )
    assert line.endswith("the worst class is 0.909091 away from its nearest")
    apart = [(age if sick != "flu" else "[26, 29]", sex, sick) for age, sex, sick in release]
    verdict = judge(apart, privacy={"nt": {"n": 10}}, **asked)
    assert verdict.figures.to_json()["near"]["disease"]["classes"] == {
        "whole_table": 4,
        "itself": 0,
        "superset": 2,
    }


def test_classes_without_a_superset_are_reported(judge: Judge) -> None:
    verdict = judge(HALVES, k=2, t="0.1", privacy={"nt": {"n": 5}}, great_expectations=True)
    one_problem(
        verdict,
        "disease: 4 classes (8 rows) are not near any natural superset",
        "n = 5, t = 0.1",
        "0.333333 away",
    )
    assert any(
        "superset_disease" in line
        for line in verdict.problems
        if line.startswith("Great Expectations")
    )
