"""docs/limits.md: regions that do not overlap."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from people import read
from promise_page import promises
from promise_releases import Finished, MakeRelease

from tclose_spark.errors import GuaranteeError
from tclose_spark.measures.disclosure.refused_cuts import (
    MOST_PRESENT,
    disclosed_by_refusal,
    rows_below_cuts,
)
from tclose_spark.measures.distances.ground_distances import EqualDistance
from tclose_spark.options.observers.refused_cuts import MOST_CLASSES, MOST_LINES

QUASI: dict[str, Any] = {
    "age": {"type": "numeric"},
    "zone": {"type": "numeric"},
    "edu": {"type": "numeric"},
}
METHODS: list[dict[str, Any]] = [
    {"name": "t_mondrian"},
    {"name": "closeness_tree", "overlap": "none"},
]


def people(rows: int = 2000) -> pd.DataFrame:
    """One in eleven has flu: fewer than t of the table."""
    draw = np.random.default_rng(7)
    columns = {"age": draw.integers(20, 80, size=rows), "zone": draw.integers(8, size=rows)}
    columns |= {"edu": draw.integers(16, size=rows)}
    return pd.DataFrame({**columns, "disease": np.where(draw.random(rows) < 0.09, "flu", "none")})


def boxes(rows: pd.DataFrame) -> list[list[tuple[int, int]]]:
    """The lowest and the highest value of each quasi-identifier, class by class."""
    found = []
    for labels in rows[list(QUASI)].drop_duplicates().itertuples(index=False):
        ends = [[int(end) for end in label.strip("[]").split(", ")] for label in labels]
        found.append([(end[0], end[-1]) for end in ends])
    return found


@pytest.fixture(scope="module", params=METHODS, ids=lambda method: method["name"])
def made(request: pytest.FixtureRequest, make_finished: MakeRelease) -> Finished:
    return make_finished(people(), quasi=QUASI, method=request.param)


@pytest.fixture(scope="module")
def by_mondrian(make_finished: MakeRelease) -> Finished:
    return make_finished(people(), quasi=QUASI, method=METHODS[0], output={"keep_linked": True})


@promises(
    "With `method: {name: t_mondrian}`, or the closeness tree's `overlap: none`",
    "For any two classes there is a quasi-identifier",
)
def test_any_two_classes_have_a_quasi_identifier_without_a_common_value(made: Finished) -> None:
    assert made.certificate["regions"] == "disjoint"
    found = boxes(made.rows)
    for i, one in enumerate(found):
        for other in found[:i]:
            assert any(b < c or d < a for (a, b), (c, d) in zip(one, other, strict=True))


@promises(
    "For an adversary who knows the method and everybody's quasi-identifiers",
    "A person's region follows from the quasi-identifiers alone, unless one is missing.",
    "A list of people reveals no more than the release.",
    "Each person on it is in one region at most.",
)
def test_each_person_lies_in_one_region(made: Finished) -> None:
    table = people()
    inside = np.zeros(len(table), dtype=int)
    for box in boxes(made.rows):
        inside += np.all(
            [table[q].between(*ends) for q, ends in zip(QUASI, box, strict=True)],
            axis=0,
        )
    assert (inside == 1).all()


@promises(
    "No row hash, secret or sensitive value assigns a person to a region.",
    "Nobody is left behind in a wide class.",
)
@promises("A partition into regions that do not overlap leaves nobody behind")
def test_another_secret_gives_the_same_release(
    make_finished: MakeRelease,
    by_mondrian: Finished,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", "another")
    again = make_finished(people(), quasi=QUASI, method=METHODS[0])
    assert again.rows.value_counts().to_dict() == by_mondrian.rows.value_counts().to_dict()
    assert by_mondrian.measured["worst"] is None


@promises(
    "Any share of the people from zip A in a region may have flu.",
    "The release describes a class, not a part",
)
def test_a_part_of_a_region_may_have_any_distribution(by_mondrian: Finished) -> None:
    linked = read(by_mondrian.folder / "internal/linked")
    parts = linked.groupby([*QUASI, "age_raw"])["disease"].agg(
        ["size", lambda x: (x == "flu").mean()],
    )
    assert parts["<lambda_0>"].max() == 1


@promises(
    "The verifier checks this from the labels, exactly.",
    'If two classes overlap, the verdict is "does not hold".',
)
def test_regions_that_overlap_publish_nothing(
    every_k_installed: None,
    make_finished: MakeRelease,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    how = {"name": "every_k", "apart": True}
    with pytest.raises(GuaranteeError, match="regions overlap"):
        make_finished(people(60), quasi=QUASI, method=how, sensitive={"disease": {"t": "measure"}})


@promises("The adversary knows that every further cut was refused")
def test_every_further_cut_at_a_median_would_break_k_or_t(by_mondrian: Finished) -> None:
    linked, t = read(by_mondrian.folder / "internal/linked"), Fraction(1, 10)
    whole = Fraction(int((linked["disease"] == "flu").sum()), len(linked))
    for _, rows in linked.groupby(list(QUASI)):
        for q in QUASI:
            values = rows[f"{q}_raw"].astype(int).to_numpy()
            for below in rows_below_cuts(values, 5, 10**6, median_only=True):
                order = rows["disease"].to_numpy()[np.argsort(values, kind="stable")] == "flu"
                sides = (order[:below], order[below:])
                assert max(abs(Fraction(int(side.sum()), len(side)) - whole) for side in sides) > t


@promises(
    "If a value's share in the table is below t, this can reveal a side and a value.",
    "For example, .1 of the table have flu",
    "A class has two sides of 5 and 25 rows, and 3 rows with flu.",
)
@promises("The side of 25 cannot be too far, so the side of 5 is")
def test_at_least_two_of_five_have_flu() -> None:
    flu = EqualDistance(np.array([900, 100]))
    told = disclosed_by_refusal([np.array([27, 3])], 5, [(flu, Fraction(1, 10))], 0)
    assert told is not None
    assert [(one.rows, one.at_least) for one in told if one.value == 1] == [(5, 2)]
    for in_five in range(4):  # by hand: which arrangements of the three make a side too far
        sides = (Fraction(in_five, 5), Fraction(3 - in_five, 25))
        assert (max(abs(side - Fraction(1, 10)) for side in sides) > Fraction(1, 10)) == (
            in_five >= 2
        )


@promises(
    "`internal/minimality.json` measures this as `refused_cuts`",
    "`refused_cuts` counts the classes that reveal a side",
    "The certificate warns of refused cuts, without values.",
)
def test_what_refused_cuts_reveal_is_counted_and_warned_of(by_mondrian: Finished) -> None:
    cuts = by_mondrian.measured["refused_cuts"]
    assert cuts["classes"] == by_mondrian.certificate["release"]["classes"]
    assert cuts["tell"] > 0
    assert {line["sensitive_value"] for line in cuts["values"]} <= {"flu", "none"}
    (warning,) = [text for text in by_mondrian.certificate["warnings"] if "did not cut" in text]
    assert "disease" in warning
    assert not any(value in warning for value in ("flu", "none"))


@promises(
    "Refused cuts are not measured:",
    "with (n, t)-closeness, with an l or where people are counted",
    "along a quasi-identifier with more than 16",
    "in classes with more than 6 sensitive values",
    "beyond the first 200 classes of a task.",
)
@pytest.mark.parametrize(
    "more",
    [
        {"privacy": {"nt": {"n": 100}}},
        {"sensitive": {"disease": {"t": "0.1", "l": {"distinct": 2}}}},
        {"person": "patient"},
    ],
    ids=str,
)
def test_cuts_that_other_requirements_refuse_are_not_counted(
    make_finished: MakeRelease,
    more: dict[str, Any],
) -> None:
    assert (MOST_LINES, MOST_PRESENT, MOST_CLASSES) == (16, 6, 200)
    table = people(300).assign(patient=range(300)) if "person" in more else people(300)
    assert (
        "refused_cuts" not in make_finished(table, quasi=QUASI, method=METHODS[0], **more).measured
    )
