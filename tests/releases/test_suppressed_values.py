"""Nothing public names a value that only suppressed rows have: no label, no end of one, no node and
no leaf of a hierarchy that was built, no size.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from people import read

from tclose_spark import pipeline
from tclose_spark.errors import GuaranteeError, UnreachableError
from tclose_spark.io.run import Run
from tclose_spark.measures.distances.ground_distances import HierarchicalDistance
from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.options.suppression.released_values import PublicNames
from tclose_spark.runfile.hierarchies import HierarchyBuilder
from tclose_spark.table.hierarchies.building import build_hierarchy
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.hierarchies.released import ReleasedHierarchy
from tclose_spark.table.labels import NumericLabels

MakeRun = Callable[..., Run]
SUPPRESSED = {"age": 7079, "code": "Z99.87", "band": 7092, "sex": "zzx", "icd": "QQ0"}
"""Of the one person who is left out. A code of these six letters is the longest, the band the last
one in order.
"""


def people(rows: int = 240) -> pa.Table:
    """Everybody but the last is one of many of a kind."""
    draw = np.random.default_rng(5)
    columns: dict[str, list[Any]] = {
        "age": [7060 + int(x) for x in draw.integers(18, size=rows - 1)],
        "code": [["A00", "A01", "B10", "B1"][x] for x in draw.integers(4, size=rows - 1)],
        "band": [7011 + 10 * int(x) for x in draw.integers(5, size=rows - 1)],
        "sex": [["f", "m"][x] for x in draw.integers(2, size=rows - 1)],
        "icd": [["C00", "C01", "D10", "D11"][x] for x in draw.integers(4, size=rows - 1)],
    }
    return pa.table({name: [*values, SUPPRESSED[name]] for name, values in columns.items()})


def public_text(run: Run) -> str:
    """All that is public, as text: what is in the table, its log without its times, the certificate
    and the report.
    """
    folder = Path(run.public.path())
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet"]
    texts = [
        re.sub(r'"(modificationTime|timestamp|createdTime)":[0-9]+', "", path.read_text())
        for path in files
    ]
    return "\n".join([*texts, read(folder / "release").to_csv()])


def certificate_of(run: Run) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(run.public.read("certificate.json"))
    return found


def release(
    make_run: MakeRun,
    quasi: dict[str, Any],
    sensitive: dict[str, Any],
    of: str,
    **more: Any,
) -> Run:
    """A release by t-Incognito from which few rows are missing."""
    table = people().select([*quasi, *sensitive])
    privacy = {"suppression_limit": "0.05", "of": of}
    run = make_run(
        table,
        quasi=quasi,
        sensitive=sensitive,
        k=5,
        privacy=privacy,
        method={"name": "t_incognito"},
        **more,
    )
    pipeline.release(run)
    suppressed = certificate_of(run)["suppressed"]["rows"]
    assert suppressed <= 12
    assert suppressed or of == "input"  # of which a class has to be left out, or nobody
    return run


def test_a_sensitive_value_of_suppressed_rows_is_in_no_tree(make_run: MakeRun) -> None:
    icd = {"distance": "hierarchical", "hierarchy": {"prefix": [2, 1]}, "t": "0.6"}
    run = release(make_run, {"sex": {}}, {"icd": icd}, "released")
    told = certificate_of(run)["attributes"]["sensitive"]["icd"]
    assert told["domain"]["values"] == ["C00", "C01", "D10", "D11"]
    assert (told["m"], told["unused"]["values"]) == (4, [])
    assert told["hierarchy"]["paths"] == [
        ["C00", "C0*", "C**", "*"],
        ["C01", "C0*", "C**", "*"],
        ["D10", "D1*", "D**", "*"],
        ["D11", "D1*", "D**", "*"],
    ]
    assert "QQ" not in public_text(run)
    assert pipeline.verify(run, finished=True).holds


def test_where_the_input_is_compared_with_its_values_are_public(make_run: MakeRun) -> None:
    icd = {"distance": "hierarchical", "hierarchy": {"prefix": [2, 1]}, "t": "measure"}
    run = release(make_run, {"age": {"type": "numeric"}, "sex": {}}, {"icd": icd}, "input")
    assert certificate_of(run)["suppressed"]["rows"]
    assert "QQ0" in certificate_of(run)["attributes"]["sensitive"]["icd"]["domain"]["values"]


LABELLED: dict[str, dict[str, Any]] = {
    "numbers": {"age": {"type": "numeric"}},
    "bounds": {"age": {"type": "numeric", "numeric_output": "bounds"}},
    "numbers in order": {"age": {"hierarchy": {"order": 4}}},
    "groups of numbers": {"band": {"hierarchy": {"order": 3}}},
    "prefixes": {"code": {"hierarchy": {"prefix": 1}}},
    "prefixes of these lengths": {"code": {"hierarchy": {"prefix": [4, 3, 2, 1]}}},
    "intervals": {"band": {"type": "numeric", "hierarchy": {"intervals": [20, 40]}}},
    "groups": {"sex": {"hierarchy": {"groups": {"either": ["f", "m"]}, "other": "another"}}},
}


@pytest.mark.parametrize("of", [pytest.param("input", marks=pytest.mark.more), "released"])
@pytest.mark.parametrize("name", LABELLED)
def test_no_label_is_named_by_a_value_of_suppressed_rows(
    make_run: MakeRun,
    name: str,
    of: str,
) -> None:
    quasi = LABELLED[name]
    ((column, settings_of),) = quasi.items()
    run = release(
        make_run,
        {**quasi, **({} if column == "sex" else {"sex": {}})},
        {"icd": {"t": "measure"}},
        of,
    )
    gone = str(SUPPRESSED[column])
    text = public_text(run)
    if certificate_of(run)["suppressed"]["rows"]:
        assert gone not in text
    if "hierarchy" in settings_of and certificate_of(run)["suppressed"]["rows"]:
        told = certificate_of(run)["attributes"]["quasi_identifiers"][column]
        released = set(people()[column].to_pylist()[:-1])
        assert told["hierarchy"]["size"] <= len(released)
        assert all(below <= len(released) for _, below in told["leaves"]["below"])
    if column == "code":  # as many stars as the longest released code has letters, at most
        assert "***" not in text
    assert pipeline.verify(run, finished=True).holds
    assert run.internal.exists("report.html")


def test_sets_of_all_released_values_are_everything(make_run: MakeRun) -> None:
    """By a method that leaves out classes whose labels are too coarse."""
    columns = {
        "city": [*["a", "b", "c"] * 40, *["d"] * 5],
        "age": [*[1, 2, 3] * 40, 99, 1, 50, 98, 3],
        "ill": ["y", "n", "y", "n", "y"] * 25,
    }
    run = make_run(
        pa.table(columns),
        quasi={"city": {"generalization": "set"}, "age": {"type": "numeric", "coarsest": 5}},
        sensitive={"ill": {"t": "measure"}},
        k=5,
        privacy={"suppression_limit": "0.05", "of": "released"},
        method={"name": "closeness_tree", "effort": "fast"},
    )
    pipeline.release(run)
    assert certificate_of(run)["suppressed"]["rows"] == 5
    assert not {"d", "{a, b, c}"} & set(read(Path(run.public.path()) / "release")["city"])


def test_the_coverage_of_new_labels_is_checked(
    make_run: MakeRun,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    honest = PublicNames.of

    def misread(*given: Any) -> PublicNames:
        names = honest(*given)
        age, *others = names.quasi
        wrong = replace(
            age,
            labeller=NumericLabels(integral=False),
        )  # reads whole numbers as the bits of doubles
        return replace(names, quasi=(wrong, *others), differs=True)

    monkeypatch.setattr(PublicNames, "of", misread)
    with pytest.raises(GuaranteeError, match="rows have a label that does not cover their value"):
        release(
            make_run,
            {"age": {"type": "numeric"}, "sex": {}},
            {"icd": {"t": "measure"}},
            "released",
        )


def test_both_runs_through_the_rows_make_the_same_classes(make_run: MakeRun) -> None:
    quasi = {"age": {"type": "numeric"}, "code": {"hierarchy": {"prefix": 1}}}
    run = release(
        make_run,
        quasi,
        {"icd": {"t": "measure"}},
        "released",
        output={"keep_linked": True},
    )
    linked = read(Path(run.internal.path()) / "linked")
    assert len(linked) == 240
    for _, rows in linked[~linked["suppressed"]].groupby(["age", "code"], dropna=False):
        assert len(rows) >= 5
    ages = linked[~linked["suppressed"]]
    for label, rows in ages.groupby("age"):
        ends = [int(end) for end in re.findall(r"\d+", label)]
        assert (rows["age_raw"].min(), rows["age_raw"].max()) == (ends[0], ends[-1])


# --- the pure function

VALUES = st.lists(
    st.from_regex(r"[A-C][0-9]{0,3}", fullmatch=True),
    min_size=2,
    max_size=12,
    unique=True,
)
BUILDERS = st.sampled_from(
    [
        HierarchyBuilder(prefix=1),
        HierarchyBuilder(prefix=2),
        HierarchyBuilder(prefix=(3, 1)),
        HierarchyBuilder(order=2),
        HierarchyBuilder(order=3),
        HierarchyBuilder(groups={"some": ("A", "B1", "C22")}, other="others"),
        HierarchyBuilder(ranges=[{"some": "A1-A99"}, {"more": "A1-B500"}], other="others"),
        HierarchyBuilder(ranges="icd9", other="others"),
    ],
)


def pair_heights(tree: Hierarchy, values: list[str]) -> dict[tuple[str, str], Fraction]:
    """How far each two values are from each other."""
    path = {p[0]: p for p in tree.paths}
    return {
        (a, b): Fraction(
            next(h for h in range(tree.height + 1) if path[a][h:] == path[b][h:]),
            tree.height,
        )
        for a in values
        for b in values
    }


@settings(max_examples=200)
@given(VALUES, BUILDERS, st.data())
def test_a_released_hierarchy(
    values: list[str],
    builder: HierarchyBuilder,
    data: st.DataObject,
) -> None:
    tree = build_hierarchy(builder, dict.fromkeys(values, 1), "code", "hierarchy")
    released = data.draw(st.lists(st.sampled_from(values), min_size=1, unique=True))
    found = ReleasedHierarchy.of(builder, tree, released, "code")
    named = {value for group in builder.grouped[0].values() for value in group}
    assert set(found.public.leaves) == {*released, *named}
    assert found.in_place.leaves == tree.leaves
    before, after = pair_heights(tree, released), pair_heights(found.public, released)
    assert all(after[pair] <= before[pair] for pair in before)
    assert Hierarchy.build(found.public.paths, "code") == found.public  # a tree
    gone = set(values) - {*released, *named}
    labels = {label for path in found.public.paths for label in path}
    assert not {part for label in labels for part in re.split(r"\.\.|[\[\], ]+", label)} & gone
    shorter = max(map(len, values)) - max(map(len, released))
    same_levels = not isinstance(builder.prefix, int) or shorter % builder.prefix == 0
    if builder.form != "order" and same_levels:  # as if the suppressed values had never been there
        assert found.public == build_hierarchy(
            builder,
            dict.fromkeys(released, 1),
            "code",
            "hierarchy",
        )
    if builder.prefix is not None:  # each label covers its values
        for leaf, *above, _ in found.public.paths:
            assert all(label == leaf or leaf.startswith(label.rstrip("*")) for label in above)
    path, place = {p[0]: p for p in found.public.paths}, {p[0]: p for p in found.in_place.paths}
    for value in released:
        assert list(dict.fromkeys(path[value])) == list(dict.fromkeys(place[value]))


@pytest.mark.parametrize(
    ("values", "released", "paths"),
    [
        (
            ["A111", "A222", "A1111"],
            ["A111", "A222"],
            (("A111", "A11*", "A***", "*"), ("A222", "A22*", "A***", "*")),
        ),
        (["A", "A0", "A00"], ["A", "A0"], (("A", "A*", "*"), ("A0", "A*", "*"))),
    ],
)
def test_labels_cover_released_values_if_the_longest_is_suppressed(
    values: list[str],
    released: list[str],
    paths: tuple[tuple[str, ...], ...],
) -> None:
    builder = HierarchyBuilder(prefix=2)
    tree = build_hierarchy(builder, dict.fromkeys(values, 1), "code", "hierarchy")
    assert ReleasedHierarchy.of(builder, tree, released, "code").public.paths == paths


def test_distances_of_released_classes_are_no_larger() -> None:
    tree = build_hierarchy(
        HierarchyBuilder(prefix=1),
        dict.fromkeys(["A0", "A1", "B0", "B0000"], 1),
        "c",
        "c",
    )
    found = ReleasedHierarchy.of(HierarchyBuilder(prefix=1), tree, {"A0", "A1", "B0"}, "c").public
    assert (tree.height, found.height) == (5, 2)
    for of in (tree, found):
        table = np.array([2 if leaf in ("A0", "A1", "B0") else 0 for leaf in of.leaves])
        class_ = Histograms.dense(np.array([[int(leaf == "A0") for leaf in of.leaves]]))
        distance = HierarchicalDistance.of(table, of.leaves, of)
        emd = Fraction(int(distance.numerators(class_)[0]), distance.scale * 6)
        assert emd == {5: Fraction(2, 5), 2: Fraction(1, 2)}[of.height] or emd <= Fraction(2, 3)


def test_a_column_without_a_released_value_is_refused() -> None:
    tree = build_hierarchy(HierarchyBuilder(prefix=1), {"A0": 1}, "code", "hierarchy")
    with pytest.raises(UnreachableError, match="no released row has a value"):
        ReleasedHierarchy.of(HierarchyBuilder(prefix=1), tree, set(), "hierarchy")
