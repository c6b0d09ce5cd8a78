"""docs/limits.md: what the choice of classes reveals, as an adversary with a list of people sees
it.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest
from people import read
from promise_page import promises
from promise_releases import Finished, MakeRelease, skewed

import tclose_spark as tc


@pytest.fixture(scope="module")
def by_tree(make_finished: MakeRelease) -> Finished:
    return make_finished(
        skewed(6000),
        quasi={"zip": {}},
        method={"name": "closeness_tree"},
        output={"keep_linked": True},
    )


@pytest.fixture(scope="module")
def suppressing(make_finished: MakeRelease) -> Finished:
    """The closeness tree may not write `*`, so it leaves out the rows that need it."""
    return make_finished(
        skewed(),
        quasi={"zip": {"coarsest": 0}},
        method={"name": "closeness_tree"},
        privacy={"suppression_limit": "0.3"},
        output={"keep_linked": True},
    )


@promises(
    "Then a share of p + (p - c) n1 / n2 of the other n2 people has it",
    "Some methods choose by sensitive value which rows stay",
    "Such a method still reveals something",
)
def test_the_surplus_is_what_narrow_classes_lack(by_tree: Finished) -> None:
    linked = read(by_tree.folder / "internal/linked")
    people = linked[linked["zip_raw"] == "zip A"]
    flu, narrow = people["disease"] == "flu", people["zip"] == "zip A"
    n1, n2, p, c = narrow.sum(), (~narrow).sum(), Fraction(flu.mean()), Fraction(flu[narrow].mean())
    assert n1 > 0 < n2
    assert p + (p - c) * Fraction(int(n1), int(n2)) == pytest.approx(flu[~narrow].mean())
    whole = (linked["disease"] == "flu").mean()
    assert float(c) == pytest.approx(
        whole + 0.1,
        abs=0.01,
    )  # narrow classes stand at the largest share that t allows
    classes = by_tree.rows[by_tree.rows["zip"] == "*"]
    assert flu[~narrow].mean() > 0.9 > 0.35 > (classes["disease"] == "flu").mean()


@promises(
    "The attack matters if a value of a quasi-identifier is skewed.",
    "For example, 6,000 people live in ten zip codes.",
    "The share with flu is .6 in zip A and .15 elsewhere",
)
def test_a_value_that_is_not_skewed_reveals_nothing(make_finished: MakeRelease) -> None:
    table = skewed()
    table["disease"] = np.random.default_rng(2).permutation(table["disease"])
    assert (
        make_finished(table, quasi={"zip": {}}, method={"name": "closeness_tree"}).measured["worst"]
        is None
    )


@promises("Of zip A's people in classes labelled `zip=*`")
@pytest.mark.parametrize(("deal", "labelled"), [("local", True), ("round_robin", False)])
def test_what_dealing_leaves_behind(make_finished: MakeRelease, deal: str, labelled: bool) -> None:
    made = make_finished(
        skewed(6000),
        quasi={"zip": {}},
        method={"name": "stack_and_deal", "deal": deal},
    )
    assert (made.rows["zip"] == "zip A").any() == labelled
    worst = made.measured["worst"]
    assert (worst is not None) == labelled
    if labelled:
        assert (worst["value"], worst["sensitive_value"]) == ("zip A", "flu")
        assert worst["true"] > 0.8 > 0.25 > worst["said"]


@promises(
    "Suppressed rows are the widest class of all.",
    "The same zip codes with 3,000 people",
    "With either setting, an adversary who knows that a person is in the input",
)
def test_an_adversary_with_a_list_of_people_knows_who_is_suppressed(suppressing: Finished) -> None:
    table, rows = skewed(), suppressing.rows
    lacking = table["zip"].value_counts() - rows["zip"].value_counts().reindex(
        sorted(set(table["zip"])),
        fill_value=0,
    )
    linked = read(suppressing.folder / "internal/linked")
    suppressed = linked[linked["suppressed"]]
    assert lacking[lacking > 0].to_dict() == suppressed["zip_raw"].value_counts().to_dict()
    public = table["disease"].value_counts() - rows["disease"].value_counts()
    shown = public["flu"] / public.sum()
    true = (suppressed["disease"] == "flu")[suppressed["zip_raw"] == "zip A"].mean()
    assert true > 0.85 > 0.4 > shown
    worst = suppressing.measured["worst"]
    assert (worst["true"], worst["said"]) == (pytest.approx(true), pytest.approx(shown))
    assert worst["suppressed"] == worst["wide"] == lacking["zip A"]


@promises(
    "t-Incognito leaves nobody in a wider class",
    "The rows that it suppresses do depend on their sensitive values.",
)
def test_full_domain_recoding_gives_a_value_one_label(make_finished: MakeRelease) -> None:
    made = make_finished(
        skewed(),
        quasi={"zip": {}},
        method={"name": "t_incognito"},
        sensitive={"disease": {"t": "0.2"}},
        privacy={"suppression_limit": "0.15", "of": "released"},
        output={"keep_linked": True},
    )
    linked = read(made.folder / "internal/linked")
    released = linked[~linked["suppressed"]]
    assert (released.groupby("zip_raw")["zip"].nunique() == 1).all()
    assert set(linked[linked["suppressed"]]["zip_raw"]) == {"zip A"}  # the one that is skewed


@promises("Fragmentation, microaggregation with t, SABRE")
@pytest.mark.parametrize("method", ["fragmentation", "microaggregation", "sabre"])
def test_other_methods_choose_by_sensitive_value_too(
    make_finished: MakeRelease,
    method: str,
) -> None:
    """Other sensitive values of the same people lead to other classes."""
    table = skewed(600)
    mixed = table.assign(disease=np.random.default_rng(3).permutation(table["disease"]))
    labels = [
        make_finished(x, quasi={"zip": {}}, method={"name": method}).rows["zip"].value_counts()
        for x in (table, mixed)
    ]
    assert labels[0].to_dict() != labels[1].to_dict()


@promises("`deal: round_robin` does not use the quasi-identifiers.")
def test_round_robin_makes_the_same_classes_whatever_the_quasi_identifiers(
    make_finished: MakeRelease,
) -> None:
    table = skewed(600)
    table["id"] = np.arange(600)  # no two classes publish the same interval, and become one
    mixed = table.assign(id=np.random.default_rng(4).permutation(table["id"]))
    method = {"name": "stack_and_deal", "deal": "round_robin"}
    made = [
        make_finished(x, quasi={"id": {"type": "numeric"}}, method=method)
        for x in (table[["id", "disease"]], mixed[["id", "disease"]])
    ]
    assert made[0].certificate["release"]["rows"] == made[1].certificate["release"]["rows"]
    assert made[0].certificate["guarantees"] == made[1].certificate["guarantees"]


@promises(
    "Each release is measured for this attack (`internal/minimality.json`).",
    "It covers every value, range of numbers and hierarchy node",
    "For each it gives the number of rows in wide classes or suppressed",
    "A surplus means that they have this value more often",
)
@promises(
    "A surplus that chance explains gives no warning.",
    "The measure looks at one quasi-identifier at a time",
)
def test_what_is_measured_is_what_the_linked_rows_say(suppressing: Finished) -> None:
    linked = read(suppressing.folder / "internal/linked")
    measured = suppressing.measured
    assert measured["measured"] is True
    for line in measured["values"]:
        people = (
            linked[linked["zip_raw"] == line["value"]]
            if line["value"].startswith("zip ")
            else linked
        )
        assert line["people"] == len(people) >= 5
        assert line["suppressed"] == people["suppressed"].sum() <= line["wide"]
    named = {line["value"] for line in measured["values"]}
    left = linked[linked["suppressed"]].groupby("zip_raw").size()
    assert set(left[left > 5].index) <= named
    assert measured["worst"] in measured["beyond_chance"]
    assert all(line in measured["values"] for line in measured["beyond_chance"])


@promises(
    "The file holds true shares, so it stays internal.",
    "The certificate's `warnings` and the console name the columns",
)
def test_the_warning_names_columns_and_no_values(suppressing: Finished) -> None:
    (warning,) = [
        text
        for text in suppressing.certificate["warnings"]
        if "adversary who knows the method" in text
    ]
    (printed,) = [text for text in suppressing.said if "adversary who knows the method" in text]
    for text in (warning, printed):
        assert "disease" in text
        assert "zip" in text
        assert not any(value in text for value in ("flu", "zip A"))
    assert "minimality" not in " ".join(
        path.name for path in (suppressing.folder / "public").rglob("*")
    )
    true = str(suppressing.measured["worst"]["true"])[:6]
    assert all(true not in path.read_text() for path in (suppressing.folder / "public").glob("*.*"))


@promises(
    "Spark Connect, shared clusters, aggregates, and columns with too many values are not "
    "measured.",
    "The run then reports this.",
)
def test_what_is_not_measured_is_printed(make_finished: MakeRelease) -> None:
    table = skewed(300).assign(name=[f"n{i}" for i in range(300)])
    many = make_finished(
        table,
        quasi={"zip": {}, "name": {}},
        method={"name": "stack_and_deal"},
        sensitive={"disease": {"t": "0.3"}},
    )
    if many.measured["left_out"]:
        assert any("not measured for name" in text for text in many.said)
    how = {"name": "microaggregation", "representative": "mean"}
    ages = skewed(300).assign(age=np.arange(300) % 50)[["age", "disease"]]
    mean = make_finished(
        ages,
        quasi={"age": {"type": "numeric"}},
        method=how,
        sensitive={"disease": {"t": "0.3"}},
    )
    assert mean.measured["measured"] is False
    assert any("not measured: the release publishes aggregates" in text for text in mean.said)


@promises("`tclose audit --background PEOPLE` carries out the attack")
def test_an_audit_with_a_list_of_people_guesses_those_who_fit_no_narrow_class(spark: Any) -> None:
    """A's narrow classes have as much flu as any class, .3 in place of .2; people of A above 50 fit
    none of them.
    """
    classes = [
        *(("A", f"[{age}, {age + 4}]", 15, 35) for age in range(20, 50, 5)),
        ("*", "[50, 79]", 90, 210),
    ]
    classes += [
        (z, f"[{age}, {age + 9}]", flu, 50 - flu)
        for z in "BC"
        for age, flu in zip(range(20, 80, 10), range(0, 12, 2), strict=True)
    ]
    rows = [
        (z, age, disease)
        for z, age, flu, gout in classes
        for disease in ["flu"] * flu + ["gout"] * gout
    ]
    listed = pd.DataFrame(
        {"zip": ["A"] * 14 + ["B"] * 3, "age": [*range(51, 62), 20, 35, 49, 22, 45, 79]},
    )
    release = pd.DataFrame(rows, columns=["zip", "age", "disease"])
    found = tc.audit(release, ["zip", "age"], {"disease": "equal"}, background=listed)
    assert found.background is not None
    (guessed,) = found.background.guesses
    assert (guessed.people, guessed.said, guessed.at_least) == (11, pytest.approx(0.3), 1.0)
