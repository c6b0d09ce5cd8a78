"""(n, t)-closeness: the superset that is named proves the class, and where none is named there is
none.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from oracle.supersets import Labels, Twin
from strategies import CITIES

from tclose_spark.checks import supersets
from tclose_spark.checks.classes.class_table import JudgedQuasi, class_table
from tclose_spark.checks.classes.tallies import tally_classes
from tclose_spark.checks.supersets import ITSELF, WHOLE, find_supersets
from tclose_spark.engine.protocol import Session
from tclose_spark.engine.tables import collect, of_arrow
from tclose_spark.measures.distances.ground_distances import EqualDistance, OrderedDistance
from tclose_spark.measures.loss.information_loss import LabelLoss
from tclose_spark.requirements.judge import JudgedAttribute
from tclose_spark.runfile.attributes import SensitiveAttribute

QUASI = {"city": LabelLoss(numeric=False, hierarchy=CITIES), "sex": LabelLoss(numeric=False)}
KINDS = [("tree", CITIES.paths), ("value", ())]
DOMAINS: dict[str, tuple[tuple[str | None, ...], str, str | None]] = {
    "disease": (("flu", "gout", None), "equal", "0.2"),
    "grade": (("1", "2", "3", "4"), "ordered", "0.15"),
    "note": (("a", "b"), "equal", None),  # of which nothing is asked
}


def judged(
    records: Sequence[Mapping[str, Any]],
    names: Sequence[str],
    **t: str,
) -> list[JudgedAttribute]:
    attributes = []
    for name in names:
        values, distance, least = DOMAINS[name]
        counts = np.array([Counter(r[name] for r in records)[value] for value in values])
        kind = {"equal": EqualDistance, "ordered": OrderedDistance}[distance]
        asked = SensitiveAttribute.model_validate({"distance": distance, "t": t.get(name, least)})
        attributes.append(JudgedAttribute(name, values, kind(counts), asked))
    return attributes


def proven(
    session: Session,
    records: Sequence[Mapping[str, Any]],
    attributes: Sequence[JudgedAttribute],
    n: int,
) -> tuple[dict[Labels, dict[str, Any]], list[str]]:
    """({labels: superset and distance of each attribute} of each class, the notes)."""
    names = [*QUASI, *[a.name for a in attributes]]
    table = of_arrow(
        session,
        pa.table({name: pa.array([r[name] for r in records], pa.string()) for name in names}),
    )
    tallies = tally_classes(table, list(QUASI), names[len(QUASI) :])
    quasi = [JudgedQuasi(name, (name,), loss) for name, loss in QUASI.items()]
    classes = class_table(tallies, quasi, attributes)
    found, notes = find_supersets(classes, tallies, quasi, attributes, n)
    asked = [a.name for a in attributes if a.settings.t is not None]
    assert set(found.columns) - set(classes.columns) == {
        f"{column}_{name}" for column in ("superset", "nt_emd") for name in asked
    }
    rows = collect(found).to_pylist()
    result = {tuple(row["quasi_identifiers"].values()): row for row in rows}
    assert len(rows) == len(result)
    return result, notes


# --- worked examples


def of(sex: str, values: str, city: str = "Pisa") -> list[dict[str, str]]:
    return [
        {"city": city, "sex": sex, "disease": {"f": "flu", "g": "gout"}[value]} for value in values
    ]


ITALY = [
    *of("f", "ff"),
    *of("f", "ffg", "Siena"),
    *of("f", "g", "Bari"),
    *of("m", "g"),
    *of("m", "gggg", "Lyon"),
    *of("m", "gg", "Bari"),
]
"""Flu: 2 of 2 women of Pisa, 4 of 5 of Tuscany, 4 of 6 of Italy, no men; 4 of the 13."""


def superset_of(found: Mapping[Labels, Mapping[str, Any]]) -> dict[Labels, str | None]:
    return {labels: row["superset_disease"] for labels, row in found.items()}


def test_each_class_has_a_superset(session: Session):
    found, notes = proven(session, ITALY, judged(ITALY, ["disease"]), 5)
    assert notes == []
    assert superset_of(found) == {
        ("Pisa", "f"): "city=Tuscany, sex=f",
        ("Siena", "f"): "city=Italy, sex=f",  # 2/3 of three, of six 4/6
        ("Bari", "f"): None,  # gout, which a third of Italy's women and five of nine Italians have
        ("Pisa", "m"): "city=*, sex=m",  # seven men, all with gout
        ("Lyon", "m"): "city=*, sex=m",
        ("Bari", "m"): "city=*, sex=m",
    }
    assert found["Pisa", "f"]["nt_emd_disease"] == pytest.approx(1 / 5)  # exactly t
    assert found["Siena", "f"]["nt_emd_disease"] == pytest.approx(0)
    assert found["Lyon", "m"]["nt_emd_disease"] == 0


def test_n_above_the_table_is_met_by_no_superset(session: Session):
    found, _ = proven(session, ITALY, judged(ITALY, ["disease"], disease="1"), len(ITALY) + 1)
    assert set(superset_of(found).values()) == {None}
    assert {row["nt_emd_disease"] for row in found.values()} == {None}


def test_n_of_the_table_is_t_closeness(session: Session):
    """Of all 13 records, 4 with flu: the whole table, whatever it is called."""
    found, _ = proven(session, ITALY, judged(ITALY, ["disease"], disease="14/39"), len(ITALY))
    assert superset_of(found) == {
        labels: None if labels == ("Pisa", "f") else WHOLE for labels in found
    }
    assert found["Siena", "f"]["nt_emd_disease"] == pytest.approx(14 / 39)  # 2/3 - 4/13, exactly t
    assert found["Lyon", "m"]["nt_emd_disease"] == pytest.approx(4 / 13)
    assert found["Pisa", "f"]["nt_emd_disease"] == pytest.approx(9 / 13)


def test_a_class_of_n_records_proves_itself(session: Session):
    found, _ = proven(session, ITALY, judged(ITALY, ["disease"]), 1)
    assert {(row["superset_disease"], row["nt_emd_disease"]) for row in found.values()} == {
        (ITSELF, 0.0),
    }


@pytest.mark.parametrize("limit", ["MOST_CLASSES", "MOST_COUNTS"])
def test_in_a_table_that_is_too_large_no_class_is_proven_by_a_box(
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
):
    monkeypatch.setattr(supersets, limit, 5)  # of six classes
    found, notes = proven(session, ITALY, judged(ITALY, ["disease"]), 4)
    assert superset_of(found) == {
        labels: ITSELF if labels == ("Lyon", "m") else None for labels in found
    }
    assert found["Bari", "m"]["nt_emd_disease"] == pytest.approx(4 / 13)  # from the whole table
    (note,) = notes
    assert note.startswith("(n, t): no box was tried. The table has 6 classes")


def test_where_nothing_proves_a_class_the_least_distance_is_reported(session: Session):
    """The one with flu: 3/4 away from the four women, 1/2 from the whole table."""
    records = [
        *of("f", "f"),
        *of("f", "ggg", "Siena"),
        *of("m", "ffff", "Lyon"),
        *of("m", "gg", "Nice"),
    ]
    found, _ = proven(session, records, judged(records, ["disease"], disease="0.1"), 4)
    assert found["Pisa", "f"]["superset_disease"] is None
    assert found["Pisa", "f"]["nt_emd_disease"] == pytest.approx(0.5)


# --- against the oracle


@pytest.mark.parametrize(
    ("seed", "n", "names"),
    [
        pytest.param(1, 12, ("disease", "grade", "note"), marks=pytest.mark.on_spark),
        (2, 25, ("note", "grade", "disease")),
        (3, 59, ("disease",)),
    ],
)
def test_the_named_superset_proves_the_class_and_where_none_is_named_there_is_none(
    session: Session,
    seed: int,
    n: int,
    names: tuple[str, ...],
):
    """Labels of all heights side by side (local recoding), missing ones, and two attributes with a
    t of their own.
    """
    draw = np.random.default_rng(seed)
    pick: Callable[[Sequence[Any]], Any] = lambda values: values[draw.integers(len(values))]  # noqa: E731
    cities = ["Pisa", "Pisa", "Siena", "Tuscany", "Bari", "Italy", "Lyon", "France", "*", None]
    records = []
    for _ in range(60):
        sex, city = pick(["f", "f", "m", "*", None]), pick(cities)
        sick = ["flu", "flu", "gout"] if sex == "f" else ["gout", None]
        records.append(
            {
                "city": city,
                "sex": sex,
                "disease": pick(sick),
                "grade": pick("1234" if city in CITIES.leaves else "334"),
                "note": pick("ab"),
            },
        )
    attributes = judged(records, names)
    found, _ = proven(session, records, attributes, n)

    classes: dict[Labels, list[Any]] = {}
    for r in records:
        classes.setdefault((r["city"], r["sex"]), []).append(r)
    assert set(found) == set(classes)
    ways = Counter()
    for a in (a for a in attributes if a.settings.t is not None):
        inside = {labels: Counter(r[a.name] for r in rows) for labels, rows in classes.items()}
        twin = Twin(inside, KINDS, a.values, n, Fraction(a.settings.t), a.settings.distance)
        for labels, row in found.items():
            told, emd = row[f"superset_{a.name}"], row[f"nt_emd_{a.name}"]
            if twin.proves(labels, ("*", "*")):
                assert (told, emd) == (WHOLE, pytest.approx(float(twin.emd(labels, ("*", "*")))))
                ways[WHOLE] += 1
            elif len(classes[labels]) >= n:
                assert (told, emd) == (ITSELF, 0)
            elif told is None:
                assert not twin.provable(labels)
                ways["open"] += 1
            else:
                box = twin.read(told, list(QUASI))
                assert twin.proves(labels, box)
                assert emd == pytest.approx(float(twin.emd(labels, box)))
                ways["proven"] += 1
    assert ways["open"] > 0
    if n < 59:  # else few boxes hold enough of 60 records
        assert ways[WHOLE] > 0
        assert ways["proven"] > 0
