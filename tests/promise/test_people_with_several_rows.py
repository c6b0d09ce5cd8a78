"""docs/people.md: people with several rows. What is counted here is counted from the input and the
published files.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from oracle.people import judge_people
from people import read
from promise_page import promises
from stays import QUASI, SENSITIVE, stays

from tclose_spark import pipeline
from tclose_spark.checks.classes import people as judged_people
from tclose_spark.engine.tables import of_arrow, write_delta
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.io.input.arrow_frames import as_arrow, readable
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.loading import load_spec
from tclose_spark.table.fingerprint import RowHash

K, T = 4, Fraction(SENSITIVE["disease"][0]["t"])


@dataclass(frozen=True)
class Made:
    """A finished release of stays, and whose each of its rows is."""

    folder: Path
    table: pa.Table
    certificate: Mapping[str, Any]

    @property
    def classes(self) -> dict[tuple[Any, ...], list[str]]:
        """By labels, the person of each row."""
        whose = dict(
            zip(self.table["row"].to_pylist(), self.table["patient"].to_pylist(), strict=True),
        )
        found = defaultdict(list)
        for row in read(self.folder / "out/public/release").to_dict("records"):
            found[tuple(row[name] for name in QUASI)].append(whose[row["row"]])
        return dict(found)

    @property
    def judged(self) -> Any:
        whose = dict(
            zip(self.table["row"].to_pylist(), self.table["patient"].to_pylist(), strict=True),
        )
        rows = read(self.folder / "out/public/release").to_dict("records")
        return judge_people(rows, whose, "row", list(QUASI), {"disease": "equal"})


@pytest.fixture(scope="module", params=["together", "apart"])
def rows(request: pytest.FixtureRequest) -> str:
    found: str = request.param
    return found


@pytest.fixture(scope="module")
def make(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Made]:
    def made(table: pa.Table, **given: Any) -> Made:
        settings: dict[str, Any] = {
            "quasi": QUASI,
            "sensitive": {"disease": SENSITIVE["disease"][0]},
            "k": K,
            "insensitive_attributes": ["row"],
            "allow_unique": ["row"],
            "drop_others": True,
            "method": {"name": "closeness_tree", "effort": "fast"},
            **given,
        }
        folder = tmp_path_factory.mktemp("made")
        conf = write_run(folder, table, **settings)
        return Made(folder, table, pipeline.release(open_run(conf)))

    return made


@pytest.fixture(scope="module")
def release(rows: str, make: Callable[..., Made]) -> Made:
    """300 people who move and grow older, one of them with more than 150 rows and any disease."""
    table, draw = stays(11, varying=True), np.random.default_rng(3)
    more = table.take(pa.array([0] * 150)).set_column(
        7,
        "row",
        pa.array([f"more {i}" for i in range(150)]),
    )
    diseases = draw.choice(table["disease"].to_pylist(), 150)
    table = pa.concat_tables([table, more.set_column(4, "disease", pa.array(diseases))])
    return make(table, person={"column": "patient", "rows": rows, "placeholders": []})


@promises(
    "The promises hold for people as well as for rows",
    "Every class has rows of at least k people.",
    "A person counts once in a class",
    "the number of people, the most rows of a person",
)
def test_every_class_has_k_people(release: Made) -> None:
    people = min(len(set(whose)) for whose in release.classes.values())
    assert people == release.certificate["people"]["smallest_class"] >= K
    times = Counter(release.table["patient"].to_pylist())
    found = release.certificate["people"]
    assert (found["people"], found["most_rows"]) == (len(times), max(times.values()))
    assert max(times.values()) > 150


@promises(
    "Every class is t-close over people.",
    "In this distribution each person weighs 1",
    "The distance over rows must be at most t, too.",
    "The certificate has both figures",
)
def test_every_class_is_close_over_people_and_over_rows(release: Made) -> None:
    found, judged = release.certificate["guarantees"]["t"]["disease"], release.judged
    assert judged.emd["disease"] <= T
    assert found["over_people"]["achieved"] == pytest.approx(
        float(judged.emd["disease"]),
        abs=1e-12,
    )
    assert Fraction(found["achieved_exact"]) <= T
    assert Fraction(found["achieved_exact"]) != judged.emd["disease"]


@promises(
    "Every l holds over people.",
    "Each person of a class counts with one row.",
    "This is the first in the order of the sensitive values' texts.",
    "A class of ten rows of one person",
)
def test_every_l_holds_over_people(release: Made) -> None:
    """`judge_people` takes the first row of each person in that order."""
    found = release.certificate["guarantees"]["l"]["disease"]["distinct"]
    assert (
        found["over_people"]["achieved"]
        == release.judged.distinct["disease"]
        >= found["required"]
        == 3
    )


@promises("Suppressed rows that are treated as a class must meet all of this.")
def test_suppressed_rows_are_k_people(
    make: Callable[..., Made],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: dict[str, Any] = {
        "method": {"name": "t_incognito"},
        "privacy": {"suppression_limit": "0.3"},
        "person": {"column": "patient", "rows": "apart"},
    }
    made = make(stays(5), **given)
    left = set(made.table["row"].to_pylist()) - set(read(made.folder / "out/public/release")["row"])
    assert len(left) == made.certificate["suppressed"]["rows"] > 0
    whose = made.table.filter(pc.is_in(made.table["row"], pa.array(sorted(left))))["patient"]
    assert len(set(whose.to_pylist())) >= K
    of_all, criteria = judged_people.JudgedPeople.criteria, []

    def required(self: Any, k: Any) -> Any:
        """As of a run file that requires more people than are suppressed."""
        found = of_all(self, k if not criteria else 200)
        criteria.append(found)
        return found

    monkeypatch.setattr(judged_people.JudgedPeople, "criteria", required)
    with pytest.raises(GuaranteeError, match="suppressed"):
        make(stays(5), **given)


@promises(
    "The column is not published, and neither is a hash of it.",
    "`internal/people` has each row as it was published",
    "The verifier counts people from these rows",
)
def test_neither_the_person_nor_a_hash_is_public(release: Made) -> None:
    internal, public = (
        read(release.folder / "out/internal/people"),
        read(release.folder / "out/public/release"),
    )
    assert "patient" not in {*public.columns, *internal.columns}
    names = list(public.columns)
    assert sorted(map(str, internal[names].to_dict("records"))) == sorted(
        map(str, public.to_dict("records")),
    )
    hashes = dict(zip(internal["row"], internal["person_hash"], strict=True))
    keyed = RowHash.of("person tests", 1)  # TCLOSE_SECRET is "tests"
    expected = keyed.of_rows([release.table["patient"].combine_chunks()]).astype("int64")
    assert [hashes[row] for row in release.table["row"].to_pylist()] == expected.tolist()
    texts = [
        path.read_bytes() for path in (release.folder / "out/public").rglob("*") if path.is_file()
    ]
    for secret in ("patient 1", *map(str, set(hashes.values()))):
        assert not any(secret.encode() in text for text in texts)


DAMAGES: dict[str, Callable[[pd.DataFrame], pd.DataFrame]] = {
    "another person": lambda rows: rows.assign(person_hash=[7, *rows["person_hash"][1:]]),
    "a row less": lambda rows: rows.iloc[1:],
    "another label": lambda rows: rows.assign(sex=[*rows["sex"][:-1], "*"]),
    "a row that is suppressed": lambda rows: rows.assign(
        suppressed=[True, *rows["suppressed"][1:]],
    ),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_people_of_other_rows_are_found(
    damage: str,
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
) -> None:
    given: dict[str, Any] = {
        "quasi": QUASI,
        "sensitive": {"disease": {"t": "0.4"}},
        "drop_others": True,
    }
    conf = write_run(tmp_path, stays(2), person="patient", method={"name": "t_mondrian"}, **given)
    run = open_run(conf)
    pipeline.profile(run)
    pipeline.plan(run)
    pipeline.anonymize(run)
    place = run.staging.path("people")
    damaged, _ = readable(as_arrow(DAMAGES[damage](read(Path(place)))))
    shutil.rmtree(place)
    write_delta(of_arrow(LocalSession(), damaged), place)
    with pytest.raises(GuaranteeError, match="internal/people"):
        pipeline.verify(run)


def test_a_method_that_counts_rows_publishes_nothing(
    every_k_installed: None,
    make: Callable[..., Made],
) -> None:
    """Its classes have k rows, and some of them fewer people."""
    settings = {
        "method": {"name": "every_k", "any_t": True},
        "sensitive": {"disease": {"t": "1", "l": {"distinct": 1}}},
    }
    with pytest.raises(GuaranteeError, match="people"):
        make(stays(3), person={"column": "patient", "rows": "apart"}, **settings)


@promises(
    "A row without a person is an error",
    "Persons are compared by their letters:",
    "`p1`, `P1` and `p1` with a blank are three people.",
)
def test_a_row_without_a_person_is_an_error(make: Callable[..., Made]) -> None:
    table = stays(1)
    names = table["patient"].to_pylist()
    numbers = [float(name.removeprefix("patient ")) for name in names]
    for wrong in ([None, "", " ", *names[3:]], [None, float("nan"), float("nan"), *numbers[3:]]):
        without = pa.array(wrong, from_pandas=False)
        with pytest.raises(
            InputError,
            match=r"attributes\.person: column 'patient' is missing in 3 of",
        ):
            make(table.set_column(0, "patient", without), person="patient")
    other = ["PATIENT 1" if i == names.index("patient 1") else name for i, name in enumerate(names)]
    made = make(table.set_column(0, "patient", pa.array(other)), person="patient")
    assert made.certificate["people"]["people"] == 300 + (names.count("patient 1") > 1)


@promises(
    "Distances over people are compared in exact integers.",
    "If people have too many different numbers of rows, weights are rounded",
)
def test_rounded_weights_are_subtracted_from_t(
    make: Callable[..., Made],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With so few units that the rounding may be larger than what is left below t, the verdict is
    no.
    """
    table = stays(2)
    achieved = make(table, person="patient").certificate["guarantees"]["t"]["disease"][
        "over_people"
    ]
    assert achieved["holds"]
    monkeypatch.setattr(judged_people, "MOST_UNITS", 1 << 14)  # 54 for each of 300 people
    with pytest.raises(GuaranteeError, match="over people"):
        make(
            table,
            person="patient",
            sensitive={"disease": {"t": str(achieved["achieved"] + 1e-6)}},
        )


@promises(
    "are in one class, whose labels cover all of them.",
    "However many rows of a person an adversary knows",
    "An adversary who knows several rows can rule out",
    "may be in several classes, and the person counts in each of them.",
    "Each class keeps its promises.",
    "An adversary who knows several rows of a person may find several classes of that person.",
)
def test_rows_of_a_person_are_in_one_class_or_in_several(
    release: Made,
    rows: str,
    make: Callable[..., Made],
) -> None:
    places = defaultdict(set)
    for labels, whose in release.classes.items():
        for person in whose:
            places[person].add(labels)
    several = sum(len(found) > 1 for found in places.values())
    assert (several == 0) == (rows == "together")
    assert min(len(set(whose)) for whose in release.classes.values()) >= K
    assert (
        load_spec(make(stays(1), person="patient").folder / "run.yaml").attributes.person.rows
        == "together"
    )  # type: ignore[union-attr]


@promises(
    "The number of a person's rows is not hidden.",
    "With `together`, an adversary who knows that a person has 12 rows",
    "A person with many rows is most of a class.",
    "Over rows, one person may have more than half of a class.",
)
def test_a_person_with_many_rows_is_in_a_large_class(release: Made, rows: str) -> None:
    (person, many), _ = Counter(release.table["patient"].to_pylist()).most_common(2)
    here = [whose for whose in release.classes.values() if whose.count(person) > len(whose) / 2]
    if rows == "together":
        large = [whose for whose in release.classes.values() if len(whose) >= many]
        assert len(large) < len(release.classes)
        assert any(person in whose for whose in large)
    assert here


@promises("All else is measured over rows:")
def test_other_figures_are_of_rows(release: Made) -> None:
    of_one_value = release.certificate["attributes"]["sensitive"]["disease"]["homogeneous"]
    table = read(release.folder / "out/public/release")
    values = table.groupby(list(QUASI), dropna=False)["disease"].agg(["nunique", "size"])
    assert of_one_value["rows"] == int(values["size"][values["nunique"] == 1].sum())
    assert "Other counts are rows." in release.certificate["counts"]
    assert "people" not in json.dumps(
        json.loads((release.folder / "out/internal/minimality.json").read_text())["left_out"],
    )
