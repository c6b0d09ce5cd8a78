"""The figures of a class table: who breaks each guarantee, and which class is farthest off, in
exact fractions.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from math import exp, inf, log
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tclose_spark.checks.classes.class_table import ClassRequirements, JudgedQuasi, class_table
from tclose_spark.checks.classes.figures import ClassFigures, class_figures
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.tables import of_arrow
from tclose_spark.measures.distances.ground_distances import EqualDistance, OrderedDistance
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.requirements.criterion import Guarantee
from tclose_spark.requirements.figures import ClassesAndRows
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.attributes import Recursive, SensitiveAttribute

AGE = JudgedQuasi("age", ("age",), LabelLoss(numeric=True, span=Fraction(40)))
SEX = JudgedQuasi("sex", ("sex",), LabelLoss(numeric=False, distinct=2))


def disease(counts: Sequence[int], **asked: Any) -> JudgedAttribute:
    """A sensitive attribute with the values a, b, ..., so many rows of each."""
    table = np.array(counts, dtype=np.int64)
    return JudgedAttribute(
        "disease",
        tuple("abcdef"[: len(counts)]),
        EqualDistance(table),
        SensitiveAttribute.model_validate(asked),
    )


def released(session: Session, rows: Sequence[tuple[Any, ...]]) -> Table:
    """Rows (age, sex, disease)."""
    columns = [pa.array(column, pa.string()) for column in zip(*rows, strict=True)]
    return of_arrow(session, pa.table(columns, ["age", "sex", "disease"]))


def figures(
    session: Session,
    rows: Sequence[tuple[Any, ...]],
    k: int | None,
    *attributes: JudgedAttribute,
) -> ClassFigures:
    """Of released rows (age, sex, disease)."""
    tallies = tally_classes(released(session, rows), ["age", "sex"], [a.name for a in attributes])
    classes = class_table(tallies, [AGE, SEX], attributes)
    return class_figures(classes, ClassRequirements(k, [AGE, SEX], attributes))


OLD = [("[50, 60]", "f", value) for value in "aab"]
YOUNG = [("[20, 40]", "*", value) for value in "ab"]
ALONE = [(None, "f", "a")]


def test_three_classes(session: Session):
    asked = disease(
        [4, 2],
        t="0.25",
        l={"distinct": 2, "entropy": "1.5", "recursive": {"c": "3", "l": 2}},
    )
    found = figures(session, [*OLD, *YOUNG, *ALONE], 3, asked)
    assert (found.rows, found.classes, found.smallest, found.largest, found.discernibility) == (
        6,
        3,
        1,
        3,
        9 + 4 + 1,
    )
    assert found.losses == pytest.approx({"age": (3 * 0.25 + 2 * 0.5) / 6, "sex": 2 / 6})
    assert found.ncp == pytest.approx((3 * 0.25 + 2 * 0.5 + 2) / 12)
    old, young, alone = ({"age": age, "sex": sex} for age, sex, _ in (OLD[0], YOUNG[0], ALONE[0]))
    assert found.guarantees[:5] == (
        Guarantee(
            measure="k-anonymity",
            attribute=None,
            required=3,
            achieved=1,
            classes=2,
            rows=3,
            worst=alone,
            size=1,
        ),
        # shares of a: 2/3 in the table and among the old, 1/2 and 1 in the others
        Guarantee(
            measure="t-closeness",
            attribute="disease",
            required=Fraction(1, 4),
            achieved=Fraction(1, 3),
            classes=1,
            rows=1,
            worst=alone,
            size=1,
        ),
        Guarantee(
            measure="distinct l-diversity",
            attribute="disease",
            required=2,
            achieved=1,
            classes=1,
            rows=1,
            worst=alone,
            size=1,
        ),
        Guarantee(
            measure="entropy l-diversity",
            attribute="disease",
            required=Fraction(3, 2),
            achieved=1.0,
            classes=1,
            rows=1,
            worst=alone,
            size=1,
        ),
        # r1 < 3 r2: 2 < 3 and 1 < 3 hold, 1 < 0 does not
        Guarantee(
            measure="recursive (c, l)-diversity",
            attribute="disease",
            required=Recursive(c=Fraction(3), l=2),
            achieved=False,
            classes=1,
            rows=1,
            worst=alone,
            size=1,
        ),
    )
    assert found.of("t-closeness", "disease") == found.guarantees[1]
    assert found.of("t-closeness") is None
    assert found.broken == list(found.guarantees[:5])
    assert (old, young) != (alone, alone)


def test_a_suppressed_row_counts_in_the_losses_only(session: Session):
    table = released(session, [*OLD, *YOUNG, *ALONE])
    attributes = [disease([4, 2])]
    classes = class_table(tally_classes(table, ["age", "sex"], ["disease"]), [AGE, SEX], attributes)
    found = class_figures(
        classes,
        ClassRequirements(3, [AGE, SEX], attributes),
        suppressed=4,
    )
    assert (found.rows, found.classes, found.discernibility) == (6, 3, 9 + 4 + 1 + 4 * 10)
    assert found.losses == pytest.approx(
        {"age": (3 * 0.25 + 2 * 0.5 + 4) / 10, "sex": (2 + 4) / 10},
    )


def test_what_is_not_asked_is_reported_and_broken_by_none(session: Session):
    found = figures(session, [*OLD, *YOUNG, *ALONE], None, disease([4, 2]))
    alone = {"age": None, "sex": "f"}
    assert found.guarantees[:4] == (
        Guarantee(
            measure="k-anonymity",
            attribute=None,
            required=None,
            achieved=1,
            classes=0,
            rows=0,
            worst=alone,
            size=1,
        ),
        Guarantee(
            measure="t-closeness",
            attribute="disease",
            required=None,
            achieved=Fraction(1, 3),
            classes=0,
            rows=0,
            worst=alone,
            size=1,
        ),
        Guarantee(
            measure="distinct l-diversity",
            attribute="disease",
            required=None,
            achieved=1,
            classes=0,
            rows=0,
            worst=alone,
            size=1,
        ),
        Guarantee(
            measure="entropy l-diversity",
            attribute="disease",
            required=None,
            achieved=1.0,
            classes=0,
            rows=0,
            worst=alone,
            size=1,
        ),
    )
    # Those alone have a only, which is 2/3 of the table.
    assert {g.measure: g.achieved for g in found.guarantees[4:]} == {
        "frequency l-diversity": 1.0,
        "beta-likeness": 0.5,
        "delta-disclosure": inf,
        "KL divergence": pytest.approx(log(1.5)),
    }
    assert found.unlike["disease"] == found.homogeneous["disease"] == ClassesAndRows(1, 1)
    assert found.broken == []


def test_a_bound_that_is_just_met_is_not_broken(session: Session):
    """Distances 0, 1/6 and 1/3, sizes 3, 2 and 1."""
    table = released(session, [*OLD, *YOUNG, *ALONE])
    tallies = tally_classes(table, ["age", "sex"], ["disease"])

    def broken(measure: int, k: int | None = None, **asked: Any) -> tuple[int, int, bool]:
        """(classes, their rows, holds)"""
        attribute = disease([4, 2], **asked)
        guarantee = class_figures(
            class_table(tallies, [AGE, SEX], [attribute]),
            ClassRequirements(k, [AGE, SEX], [attribute]),
        ).guarantees[measure]
        return guarantee.classes, guarantee.rows, guarantee.holds

    assert broken(0, k=1) == (0, 0, True)
    assert broken(0, k=2, t="1/3") == (1, 1, False)
    assert broken(1, k=9, t="1/3") == (0, 0, True)
    assert broken(1, t="0.3333333333333333333") == (1, 1, False)
    assert broken(1, t="0.16") == (2, 3, False)


def test_as_many_equally_frequent_values_as_asked_are_enough_entropy(session: Session):
    rows = [("1", "f", value) for value in "abc"]
    entropy = figures(session, rows, None, disease([1, 1, 1], l={"entropy": "3"})).of(
        "entropy l-diversity",
        "disease",
    )
    assert entropy is not None
    assert (entropy.achieved, entropy.classes) == (pytest.approx(3), 0)


CLASSES = {
    "quasi_identifiers": pa.struct({"age": pa.string(), "sex": pa.string()}),
    "size": pa.int64(),
    "losses": pa.struct({"age": pa.float64(), "sex": pa.float64()}),
    "emd_disease": pa.float64(),
    "numerator_disease": pa.decimal128(38, 0),
    "margin_disease": pa.decimal128(38, 0),
    "distinct_disease": pa.int64(),
    "entropy_disease": pa.float64(),
    "mode_disease": pa.int64(),
    "gain_disease": pa.float64(),
    "similar_disease": pa.bool_(),
    **{
        f"{measure}_disease": pa.float64()
        for measure in ("frequency", "beta", "delta", "divergence")
    },
}


@pytest.mark.parametrize(
    "farthest",
    ["the smaller", pytest.param("the larger", marks=pytest.mark.on_spark)],
)
def test_distances_that_are_one_double_are_told_apart(
    table_of: Callable[..., Table],
    farthest: str,
):
    """Half, and half less a 12 * 10^18th part, are one double; classes of different size, so
    numerators do not compare either.
    """
    table = disease([10**18, 10**18], t="0.5")
    less = {"the smaller": 3, "the larger": 2}[
        farthest
    ]  # the size of the class that is nearer by the smallest step

    def row(size: int) -> tuple[Any, ...]:
        numerator = Decimal(
            2 * 10**18 * size - (size == less),
        )  # of EMD = numerator / (2 * rows * size)
        return (
            {"age": f"of {size}", "sex": "f"},
            size,
            {"age": 0.0, "sex": 0.0},
            float(numerator) / (4e18 * size),
            numerator,
            Decimal(0),
            2,
            2.0,
            1,
            0.5,
            False,
            *[0.5] * 4,
        )

    rows = [row(2), row(3)]
    assert rows[0][3] == rows[1][3] == 0.5
    required = ClassRequirements(None, [AGE, SEX], [table])
    figures = class_figures(table_of(rows, **CLASSES), required)
    closeness = figures.of("t-closeness", "disease")
    assert closeness is not None
    assert closeness.achieved == Fraction(1, 2)
    assert closeness.worst == {"age": f"of {5 - less}", "sex": "f"}


# --- against an oracle


def emd(
    inside: Counter[str],
    whole: Counter[str],
    values: Sequence[str],
    ordered: bool,
) -> Fraction:
    """Of shares in a class from shares in the table."""
    extra = [
        Fraction(inside[v], inside.total()) - Fraction(whole[v], whole.total()) for v in values
    ]
    if not ordered:
        return sum(map(abs, extra), Fraction(0)) / 2
    return sum((abs(sum(extra[: i + 1])) for i in range(len(extra) - 1)), Fraction(0)) / (
        len(extra) - 1
    )


@pytest.mark.parametrize("seed", [pytest.param(1, marks=pytest.mark.on_spark), 2])
def test_drawn_classes_have_the_figures_of_their_definitions(session: Session, seed: int):
    """Some classes at both sides of each bound."""
    draw = np.random.default_rng(seed)
    ages, sexes = ["[20, 30]", "[31, 60]", "*", "44", None], ["f", "m", "*", None]
    release = pd.DataFrame(
        {
            "age": [ages[i] for i in draw.integers(5, size=90)],
            "sex": [sexes[i] for i in draw.choice(4, 90, p=[0.6, 0.2, 0.1, 0.1])],
            "disease": [["flu", "gout", "ulcer"][i] for i in draw.choice(3, 90, p=[0.7, 0.2, 0.1])],
            "grade": [str(i) for i in draw.integers(1, 6, size=90)],
        },
        dtype=object,
    )
    domains = {"disease": ["flu", "gout", "ulcer"], "grade": ["1", "2", "3", "4", "5"]}
    whole = {name: Counter(release[name]) for name in domains}
    counts = {
        name: np.array([whole[name][value] for value in values]) for name, values in domains.items()
    }
    diversity = {"distinct": 3, "entropy": "2", "recursive": {"c": "2", "l": 2}, "frequency": "3/2"}
    attributes = [
        JudgedAttribute(
            "disease",
            tuple(domains["disease"]),
            EqualDistance(counts["disease"]),
            SensitiveAttribute.model_validate({"t": "0.2", "l": diversity, "beta": "3/4"}),
        ),
        JudgedAttribute(
            "grade",
            tuple(domains["grade"]),
            OrderedDistance(counts["grade"]),
            SensitiveAttribute.model_validate(
                {"distance": "ordered", "t": "0.2", "l": diversity, "beta": "3/4"},
            ),
        ),
    ]
    table = of_arrow(
        session,
        pa.table({name: pa.array(list(release[name]), pa.string()) for name in release}),
    )
    tallies = tally_classes(table, ["age", "sex"], list(domains), 9)
    found = class_figures(
        class_table(tallies, [AGE, SEX], attributes),
        ClassRequirements(4, [AGE, SEX], attributes),
    )

    classes = {
        tuple(None if pd.isna(x) else x for x in key): rows
        for key, rows in release.groupby(["age", "sex"], dropna=False)
    }
    assert (found.rows, found.classes) == (90, len(classes))
    assert found.discernibility == sum(len(rows) ** 2 for rows in classes.values())

    def check(
        measure: str,
        name: str | None,
        figure: Mapping[Any, Any],
        breaks: Mapping[Any, bool],
        worst: Any,
    ) -> None:
        guarantee = found.of(measure, name)
        assert guarantee is not None
        broken = [key for key, is_broken in breaks.items() if is_broken]
        assert 0 < len(broken) < len(classes)
        assert (guarantee.classes, guarantee.rows) == (
            len(broken),
            sum(len(classes[key]) for key in broken),
        )
        assert (
            guarantee.achieved == pytest.approx(worst)
            if isinstance(worst, float)
            else guarantee.achieved == worst
        )
        assert (
            figure[tuple(guarantee.worst.values())] == pytest.approx(worst)
            if isinstance(worst, float)
            else True
        )

    sizes = {key: len(rows) for key, rows in classes.items()}
    check(
        "k-anonymity",
        None,
        sizes,
        {key: size < 4 for key, size in sizes.items()},
        min(sizes.values()),
    )
    assert sizes[tuple(found.guarantees[0].worst.values())] == min(sizes.values())
    for a in attributes:
        inside = {key: Counter(rows[a.name]) for key, rows in classes.items()}
        far = {
            key: emd(counts, whole[a.name], domains[a.name], a.name == "grade")
            for key, counts in inside.items()
        }
        check(
            "t-closeness",
            a.name,
            far,
            {key: x > Fraction(1, 5) for key, x in far.items()},
            max(far.values()),
        )
        closeness = found.of("t-closeness", a.name)
        assert closeness is not None
        assert far[tuple(closeness.worst.values())] == max(far.values())
        distinct = {key: len(counts) for key, counts in inside.items()}
        check(
            "distinct l-diversity",
            a.name,
            distinct,
            {key: x < 3 for key, x in distinct.items()},
            min(distinct.values()),
        )
        entropy = {
            key: exp(-sum(c / n.total() * log(c / n.total()) for c in n.values()))
            for key, n in inside.items()
        }
        check(
            "entropy l-diversity",
            a.name,
            entropy,
            {key: x < 2 - 1e-9 for key, x in entropy.items()},
            min(entropy.values()),
        )
        frequency = {key: Fraction(n.total(), max(n.values())) for key, n in inside.items()}
        rare = {key: x < Fraction(3, 2) for key, x in frequency.items()}
        check("frequency l-diversity", a.name, frequency, rare, float(min(frequency.values())))
        size, all_ = len(release), whole[a.name]
        beta = {
            key: max(Fraction(c, n.total()) / Fraction(all_[v], size) for v, c in n.items()) - 1
            for key, n in inside.items()
        }
        check(
            "beta-likeness",
            a.name,
            beta,
            {key: x > Fraction(3, 4) for key, x in beta.items()},
            max(beta.values()),
        )
        lacking = [key for key, n in inside.items() if len(n) < len(all_)]
        assert found.unlike[a.name] == ClassesAndRows(
            len(lacking),
            sum(len(classes[key]) for key in lacking),
        )
        ranked = {key: sorted(n.values(), reverse=True) for key, n in inside.items()}
        recursive = {key: r[0] >= 2 * sum(r[1:]) for key, r in ranked.items()}
        check("recursive (c, l)-diversity", a.name, recursive, recursive, False)
        margin = {key: 2 * sum(r[1:]) - r[0] for key, r in ranked.items()}
        guarantee = found.of("recursive (c, l)-diversity", a.name)
        assert guarantee is not None
        assert margin[tuple(guarantee.worst.values())] == min(margin.values())
