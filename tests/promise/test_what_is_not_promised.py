"""What is not promised: what an adversary learns all the same, and what is warned of or refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from oracle.labels import ends
from oracle.third_party import ThirdParty, certificate_of, distance, read_table
from people import PEOPLE, read
from promise_page import promises

from tclose_spark import pipeline
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.release_form import ReleaseForm
from tclose_spark.stages.warnings import profile_warnings
from tclose_spark.table.domains import sensitive_domain
from tclose_spark.table.entities.finding import Subjects

ROWS, K = 48, 6
CLASS = [i // K for i in range(ROWS)]
SEVERAL = {
    "age": [20 + i for i in range(ROWS)],
    "sex": [["f", "m"][CLASS[i] % 2] for i in range(ROWS)],
    "disease": ["flu" if i % (2 * K) == 0 else None for i in range(ROWS)],
    "one": [["x", "y"][i % 2] for i in range(ROWS)],
    "other": [
        ["x", "y"][(i + CLASS[i]) % 2] for i in range(ROWS)
    ],  # in a class it follows from the one
    "income": [10_000 + 37 * i for i in range(ROWS)],
    "house": [f"house {i}" for i in range(ROWS)],
    "colour": [["red", "blue", "green"][i // 16] for i in range(ROWS)],
    "team": [i // 12 if i % 2 else i % 4 for i in range(ROWS)],
}
OF_SEVERAL: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}, "sex": {}},
    "sensitive": {
        "disease": {"t": "0.2"},
        "one": {"t": "0.1"},
        "other": {"t": "0.1"},
        "income": {"t": "measure"},
    },
    "insensitive_attributes": ["house", "colour", "team"],
    "allow_unique": ["house", "colour"],
    "k": K,
    "method": {"name": "every_k", "any_t": True},
}


@pytest.fixture(scope="module")
def several(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    with_every_k: Callable[[], Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished output of classes of six neighbours by age, with several sensitive attributes."""
    path = write_run(tmp_path_factory.mktemp("several"), pa.table(SEVERAL), **OF_SEVERAL)
    with with_every_k():
        pipeline.release(open_run(path))
    return path.parent / "out"


# --- what an adversary learns


@promises("A release does not hide that someone is in the table")
def test_membership_shows(several: Path) -> None:
    """Who knows all inhabitants finds that everybody is in the table, since there are as many rows
    as people.
    """
    labels = Counter(row["age"] for row in read_table(several / "public/release"))
    for label, rows in labels.items():
        low, high = (end for end, _ in ends(label))
        assert sum(low <= age <= high for age in SEVERAL["age"]) == rows


@promises(
    "The last member of a class.",
    "An adversary who knows all other members of a class can deduce",
)
def test_the_last_member_of_a_class_is_known(finished: Path) -> None:
    released = read(finished / "public/release").groupby(["age", "city"])["disease"].agg(Counter)
    linked = read(finished / "internal/linked")
    for label, rows in linked.groupby(["age", "city"]):
        values = rows["disease"].tolist()
        for place, value in enumerate(values):
            others = Counter(values[:place] + values[place + 1 :])
            assert released[label] - others == Counter([value])


@promises("The distribution of the whole table is public")
def test_the_distribution_of_the_whole_table_is_public(finished: Path) -> None:
    assert Counter(read(finished / "public/release")["disease"]) == Counter(
        PEOPLE["disease"].to_pylist(),
    )


@promises(
    "Each release keeps its promises by itself.",
    "The combination of two releases is not examined, unless one continues the other.",
)
def test_two_releases_together_hold_less_than_each(finished: Path, dealt_in_turn: Path) -> None:
    """Both hold, and what they have in common singles out fewer people than k."""
    tables = []
    for output in (finished, dealt_in_turn):
        assert certificate_of(output)["verdict"] == "holds"
        table = read(output / "internal/linked")
        assert table.groupby(["age", "city"]).size().min() >= 5
        tables.append(table.set_index(["age_raw", "city_raw"])[["age", "city"]])
    both = tables[0].join(tables[1], rsuffix="_again")
    assert len(both) == len(PEOPLE)
    assert both.groupby(list(both)).size().min() < 5


@promises(
    "Classes with one value.",
    "A t alone allows such classes",
    "For every sensitive attribute, the certificate counts the classes with only one value",
)
def test_classes_of_one_frequent_value_are_allowed_and_counted(several: Path) -> None:
    certificate = certificate_of(several)
    assert certificate["guarantees"]["t"]["disease"]["required_exact"] == "1/5"
    assert certificate["unprotected"].keys() == {"income"}
    parts = ThirdParty(several / "public").parts("disease")
    assert sum(part == {None: K} for part in parts) == 4
    counted = {
        name: entry["homogeneous"] for name, entry in certificate["attributes"]["sensitive"].items()
    }
    none = {"classes": 0, "rows": 0}
    assert counted == {
        "disease": {"classes": 4, "rows": 24},
        "one": none,
        "other": none,
        "income": none,
    }


@promises(
    "Each attribute is close by itself.",
    "An adversary who knows a person's value of one may learn about another",
)
def test_each_attribute_is_close_and_one_gives_another_away(several: Path) -> None:
    party = ThirdParty(several / "public")
    for name in ("one", "other"):
        assert {
            distance(party.sensitive[name], part, party.whole[name]) for part in party.parts(name)
        } == {0}
    for rows in party.classes.values():
        assert (
            len({(row["one"], row["other"]) for row in rows}) == 2
        )  # of four, each value of one with one of other


@promises("The certificate measures how far their combinations are")
def test_the_distance_of_combinations_is_measured(several: Path) -> None:
    party = ThirdParty(several / "public")
    reached = party.certificate["information"]["tuples"]
    assert reached["achieved_exact"] == str(party.tuples())
    assert party.tuples() > Fraction(1, 5)  # farther than any t


# --- what a value means


@promises(
    "Values are compared by their letters",
    "`flu`, `flu ` and `FLU` make a class of distinct l = 3",
)
def test_spellings_make_a_class_diverse(several_spellings: dict[str, Any]) -> None:
    reached = several_spellings["guarantees"]["l"]["disease"]["distinct"]
    assert reached == {"required": 3, "achieved": 3}
    assert several_spellings["release"]["classes"] == 2


@pytest.fixture(scope="module")
def spelled(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file of six people with three spellings of one disease; three more have none."""
    table = {
        "age": list(range(12)),
        "disease": ["flu", "flu ", "FLU"] * 2 + ["gout", "mumps", None] * 2,
    }
    method = {"name": "every_k"}
    asked = {"disease": {"l": {"distinct": 3}}}
    quasi = {"age": {"type": "numeric"}}
    folder = tmp_path_factory.mktemp("spelled")
    return write_run(folder, table, quasi=quasi, sensitive=asked, k=6, method=method)


@pytest.fixture(scope="module")
def several_spellings(
    spelled: Path,
    open_run: Callable[..., Any],
    with_every_k: Callable[[], Any],
) -> dict[str, Any]:
    with with_every_k():
        pipeline.release(open_run(spelled))
    return certificate_of(spelled.parent / "out")


@promises("Missing values.", "A missing value counts as a value, unless")
def test_a_missing_value_is_a_value(several_spellings: dict[str, Any]) -> None:
    """The second class has gout, mumps and people without a disease: l = 3."""
    assert None in several_spellings["attributes"]["sensitive"]["disease"]["domain"]["values"]
    assert several_spellings["guarantees"]["l"]["disease"]["distinct"]["achieved"] == 3


@promises("The certificate warns of different spellings, and `text` options merge them.")
def test_spellings_are_warned_of_and_joined(
    several_spellings: dict[str, Any],
    spelled: Path,
    tclose: Callable[..., tuple[int, str, str]],
    with_every_k: Callable[[], Any],
) -> None:
    assert [line.split(" differ")[0] for line in several_spellings["warnings"]][:1] == [
        "disease: 2 of 6 values",
    ]
    text = "attributes.sensitive_attributes.disease.text={strip: true, case: fold}"
    with with_every_k():
        code, _, err = tclose("release", spelled, "--set", text, "--set", "output.path=joined")
    assert (code, "1 classes (6 rows) have less distinct" in err) == (1, True), err
    assert not list(spelled.parent.glob("joined/public/*"))


# --- a nearly unique sensitive attribute


@promises(
    "A nearly unique sensitive attribute, such as an exact income, has more than one distinct value",
)
@pytest.mark.parametrize(("distinct", "warned"), [(5, False), (6, True)])
def test_more_than_one_value_for_two_rows_is_nearly_unique(distinct: int, warned: bool) -> None:
    settings = SensitiveAttribute.model_validate({"t": "measure"})
    counts = Counter(str(i % distinct) for i in range(10))
    domain = sensitive_domain("income", counts, settings, None, True)
    profile: Any = SimpleNamespace(
        quasi=(),
        sensitive=(domain,),
        rows=10,
        subjects=Subjects(),
        repeated=(),
        people=None,
        rounded_away=0,
        far=(),
    )
    spec: Any = SimpleNamespace(
        attributes=SimpleNamespace(
            sensitive_attributes={"income": settings},
            weight=None,
            owners=(),
        ),
        release=ReleaseForm(),
    )
    assert ["nearly unique" in line for line in profile_warnings(profile, spec)] == [True] * warned


@promises("An adversary who knows the person's value recognizes the record.")
def test_a_known_income_is_one_record(several: Path) -> None:
    assert set(
        Counter(row["income"] for row in read_table(several / "public/release")).values(),
    ) == {1}


@promises("The certificate warns and names the column")
def test_the_certificate_names_a_nearly_unique_column(several: Path) -> None:
    assert [line.split(",")[0] for line in certificate_of(several)["warnings"]] == [
        "income: nearly unique",
    ]


# --- insensitive columns


@promises("Insensitive columns are published without generalization.")
def test_insensitive_columns_are_published_as_they_are(several: Path) -> None:
    released = {row["income"]: row for row in read_table(several / "public/release")}
    names = ("house", "colour", "team")
    for i, income in enumerate(SEVERAL["income"]):
        assert [released[income][name] for name in names] == [SEVERAL[name][i] for name in names]


REFUSED = {
    "one that is nearly unique": (
        {"house": [i // 2 + 20 * (i % 2) for i in range(ROWS)]},
        "'house' is nearly unique",
    ),
    "several that are so together": (
        {"house": [i % 7 for i in range(ROWS)], "street": [i // 7 for i in range(ROWS)]},
        "'house' and 'street' are nearly unique together",
    ),
    "what gives back more than half": (
        {"team": [i // 12 for i in range(ROWS)]},
        "'team' takes back 7",
    ),
}


@promises(
    "The profile limits what they reveal:",
    "The profile rejects a column that is nearly unique, and several columns",
    "It also rejects columns that give back more than half",
    "This is measured on about 200,000 different records.",
)
@pytest.mark.parametrize("name", REFUSED)
def test_columns_that_point_at_people_are_refused(
    run_file: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
    name: str,
) -> None:
    columns, message = REFUSED[name]
    table = {key: SEVERAL[key] for key in ("age", "sex", "disease")} | columns
    code, _, err = tclose("profile", run_file(table, insensitive_attributes=list(columns)))
    assert code == 2
    assert message in err


def test_what_gives_back_less_than_half_is_published(several: Path) -> None:
    assert 0.1 < taken_back(several)["team", "age"] < 0.5


def taken_back(output: Path) -> dict[tuple[str, str], float]:
    record = json.loads((output / "internal/run.json").read_text())["stages"]["profile"][
        "insensitive"
    ]["taken_back"]
    return {
        ("+".join(figure["columns"]), figure["quasi_identifier"]): figure["share"]
        for figure in record
    }


@promises(
    "Let W be the mean width (NCP) of the label that covers two random rows.",
    "The share given back is 1 - W(",
)
def test_what_a_column_gives_back_is_computed_again_pair_by_pair(several: Path) -> None:
    people = pd.DataFrame(SEVERAL)
    span = people["age"].max() - people["age"].min()
    widths: dict[str, Callable[[Any, Any], float]] = {
        "age": lambda a, b: abs(a - b) / span,
        "sex": lambda a, b: a != b,
    }
    for quasi, width in widths.items():
        for column in ("colour", "team"):
            pairs = [
                (width(people[quasi][i], people[quasi][j]), people[column][i] == people[column][j])
                for i, j in combinations(range(ROWS), 2)
            ]
            same = [wide for wide, alike in pairs if alike]
            anyone = sum(wide for wide, _ in pairs) / len(pairs)
            assert taken_back(several)[column, quasi] == pytest.approx(
                1 - sum(same) / len(same) / anyone,
                abs=1e-4,
            )


@promises("`allow_unique` exempts a column, and the certificate lists it.")
def test_exempt_columns_stand_in_the_certificate(
    several: Path,
    certificate: dict[str, Any],
) -> None:
    assert certificate_of(several)["allow_unique"] == ["house", "colour"]
    assert taken_back(several)["colour", "age"] > 0.5
    assert certificate["allow_unique"] == []


@promises(
    "Unused values of an order change distances.",
    "At the ends of the order they make each distance smaller.",
    "Between other values they can make a distance larger.",
    "The certificate warns of them",
)
def test_unused_values_of_an_order_change_distances(left_out: Path) -> None:
    """At the ends they make each distance smaller; between values they can make one larger."""
    party = ThirdParty(left_out / "public")
    entry, whole = party.sensitive["mood"], party.whole["mood"]
    assert entry["unused"]["values"] == ["never", "always"]
    shorter = {**entry, "m": 4, "domain": {"values": [None, "low", "middle", "high"]}}
    assert all(
        distance(entry, part, whole) < distance(shorter, part, whole)
        for part in party.parts("mood")
    )
    assert "mood: 2 of the 6 values of its order are in no row" in " ".join(
        party.certificate["warnings"],
    )
    part, table = Counter[str | None]("aabc"), Counter[str | None]("abbc")
    of = [
        {"distance": "ordered", "m": len(order), "domain": {"values": order}}
        for order in ("abc", "a-bc")
    ]
    assert [distance(given, part, table) for given in of] == [Fraction(1, 8), Fraction(1, 6)]
