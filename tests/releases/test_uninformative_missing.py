"""Missing sensitive values that are uninformative: they count for k and t, and for no l, no
homogeneity and no attack. Counted anew from the released rows.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from people import read, run_stages
from strategies import drawn

from tclose_spark import pipeline
from tclose_spark.api.audit import audit
from tclose_spark.errors import ConfigurationError, GuaranteeError, UnreachableError
from tclose_spark.io.run import Run
from tclose_spark.requirements import planning
from tclose_spark.runfile.loading import load_spec

LESSON = pa.table({"q": [*"aabbcc"], "s": ["flu", None, "flu", "gout", None, None]})


def achieved(missing: str | None) -> dict[str, Any]:
    settings = {} if missing is None else {"missing": missing}
    result = audit(LESSON, {"q": {}}, {"s": {"distance": "equal", **settings}}, k=2)
    found = {one.measure: one.achieved for one in result.guarantees}
    return {**found, **{one.attack: one.classes for one in result.attacks}}


def test_the_three_readings_of_one_table() -> None:
    """As a value of its own, l is 1; wildcards would give 2 (see docs/others.md); ours is 0."""
    plain, ours = achieved(None), achieved("uninformative")
    assert (plain["distinct l-diversity"], ours["distinct l-diversity"]) == (1, 0)
    assert (plain["entropy l-diversity"], ours["entropy l-diversity"]) == (1.0, 0.0)
    assert (plain["frequency l-diversity"], ours["frequency l-diversity"]) == (1.0, 0.0)
    for unchanged in ("k-anonymity", "t-closeness", "beta-likeness"):
        assert plain[unchanged] == ours[unchanged]
    assert (plain["homogeneity"], ours["homogeneity"]) == (
        1,
        1,
    )  # of class c, and of class a: who has a value has flu
    assert (plain["background knowledge"], ours["background knowledge"]) == (
        3,
        2,
    )  # all but class c
    assert (plain["skewness"], ours["skewness"]) == (2, 1)  # a: flu from 2/3 to 1 of known values


def test_another_attribute_tells_of_no_missing_value() -> None:
    table = pa.table(
        {"q": [*"aaaa"], "job": ["x", "x", "y", "z"], "s": [None, None, "flu", "gout"]},
    )
    attributes = {"job": "equal", "s": {"distance": "equal", "missing": "uninformative"}}
    found = audit(table, {"q": {}}, attributes)
    (target,) = [
        one for one in found.attacks if one.attack == "knowing another" and one.attribute == "s"
    ]
    assert (target.people, target.after) == (
        2,
        1.0,
    )  # of known values; y has the flu and z the gout; of x nothing is known


@drawn(40, quick=8)
@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from(["flu", "gout", "cold", None])),
        min_size=1,
    ),
)
def test_missing_values_dilute_no_attack(rows: list[tuple[str, str | None]]) -> None:
    """Attacks on one attribute are those on the rows with a value, whatever rows without one are
    beside.
    """
    known = [row for row in rows if row[1] is not None]
    if not known:
        return

    def attacks(of: list[tuple[str, str | None]]) -> Any:
        table = pa.table({"q": [q for q, _ in of], "s": pa.array([s for _, s in of], pa.string())})
        settings = {"s": {"distance": "equal", "missing": "uninformative"}}
        found = audit(table, {"q": {}}, settings, engine="local").attacks
        return {
            one.attack: (one.classes, one.people, pytest.approx(one.after - one.before))
            for one in found
        }

    assert attacks(rows) == attacks(known)


def drawn_table(seed: int, n: int = 160) -> pa.Table:
    draw = np.random.default_rng(seed)
    age = draw.integers(20, 60, n)
    value = [["flu", "gout", "cold", "ulcer", None, None][i] for i in draw.integers(0, 6, n)]
    return pa.table(
        {
            "age": age,
            "s": [None if 30 < a < 36 else v for a, v in zip(age.tolist(), value, strict=True)],
        },
    )


def known_values(out: Path) -> list[Counter[str]]:
    """The known values of each class."""
    classes: dict[Any, Counter[str]] = defaultdict(Counter)
    for row in read(out / "public/release").to_dict("records"):
        classes[row["age"]].update([] if row["s"] is None or row["s"] != row["s"] else [row["s"]])
    return [*classes.values()]


def diversity(kind: str, known: Counter[str]) -> float:
    counts, size = sorted(known.values(), reverse=True), sum(known.values())
    if not size:
        return 0
    entropy = math.exp(-sum(c / size * math.log(c / size) for c in counts))
    figures = {"distinct": len(counts), "entropy": entropy, "frequency": size / counts[0]}
    return figures.get(kind, 2 * sum(counts[1:]) - counts[0])


CASES = [
    *(
        ("distinct", 2, method)
        for method in ("closeness_tree", "t_mondrian", "microaggregation", "sabre", "exact")
    ),
    *(
        (kind, want, "t_incognito")
        for kind, want in (("distinct", 3), ("entropy", "2.2"), ("frequency", 2))
    ),
    *(
        (kind, want, "stack_and_deal")
        for kind, want in (("distinct", 3), ("entropy", "2.2"), ("frequency", 2))
    ),
    ("recursive", {"c": 2, "l": 2}, "t_incognito"),
]


@pytest.mark.parametrize(("kind", "want", "method"), CASES)
def test_every_class_is_diverse_in_known_values(
    kind: str,
    want: Any,
    method: str,
    make_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    settings = {"t": "0.6", "missing": "uninformative", "l": {kind: want}}
    table = drawn_table(1, 14 if method == "exact" else 160)
    run = make_run(
        table,
        quasi={"age": {"type": "numeric"}},
        sensitive={"s": settings},
        method={"name": method},
    )
    certificate = pipeline.release(run)
    figures = [diversity(kind, known) for known in known_values(tmp_path / "out")]
    assert min(figures) > 0 if kind == "recursive" else min(figures) >= float(want) - 1e-12
    reached = certificate["guarantees"]["l"]["s"][kind]
    if kind != "recursive":
        assert reached["achieved"] == pytest.approx(min(figures))
    assert certificate["attributes"]["sensitive"]["s"]["missing"] == "uninformative"
    t = certificate["guarantees"]["t"]["s"]
    assert Fraction(t["achieved_exact"]) == farthest(tmp_path / "out", table)


def farthest(out: Path, table: pa.Table) -> Fraction:
    """The largest distance of a class, where missing is a value."""
    whole, classes = Counter(table["s"].to_pylist()), defaultdict(Counter)
    for row in read(out / "public/release").to_dict("records"):
        classes[row["age"]][row["s"] if isinstance(row["s"], str) else None] += 1
    n = len(table)
    return max(
        sum(abs(Fraction(c[v], sum(c.values())) - Fraction(whole[v], n)) for v in whole) / 2
        for c in classes.values()
    )


@pytest.mark.parametrize("household", [None, "home"])
def test_a_table_with_too_few_known_values_is_refused_by_their_number(
    make_run: Callable[..., Run],
    household: str | None,
) -> None:
    table = pa.table({"q": ["a"] * 12, "s": ["flu", "gout", None] * 4, "home": list(range(12))})
    settings = {"t": "0.5", "missing": "uninformative", "l": {"distinct": 3}}
    asked: dict[str, Any] = {"method": {"name": "closeness_tree"}, "drop_others": True, "k": 2}
    asked |= {} if household is None else {"household": household}
    with pytest.raises(
        UnreachableError,
        match=r"l\.distinct is 3, but the whole table has 2 values",
    ):
        pipeline.release(make_run(table, quasi={"q": {}}, sensitive={"s": settings}, **asked))


def test_the_verifier_counts_known_values_itself(
    make_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    settings = {"t": "0.9", "missing": "uninformative", "l": {"distinct": 2}}
    quasi = {"age": {"type": "numeric"}}
    run = make_run(
        drawn_table(2),
        quasi=quasi,
        sensitive={"s": settings},
        method={"name": "t_mondrian"},
        k=2,
    )
    with monkeypatch.context() as patch:  # a plan for which missing is a value like others
        patch.setattr(planning, "_of_known", lambda *own: planning.Needs())
        run_stages(run, "profile", "plan", "anonymize")
    with pytest.raises(GuaranteeError, match=r"distinct"):
        pipeline.verify(run)
    assert not (tmp_path / "out/public/certificate.json").exists()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"distance": "ordered", "t": "0.2"},
            "missing is uninformative; expected error or uninformative for distance",
        ),
        ({"l": {"frequency": 2}}, "method t_mondrian makes no frequency l of known values"),
    ],
)
def test_what_has_no_place_is_refused(
    settings: Any,
    message: str,
    run_file: Callable[..., Path],
) -> None:
    sensitive = {"s": {"missing": "uninformative", **settings}}
    with pytest.raises(ConfigurationError, match=message):
        load_spec(
            run_file(
                drawn_table(3),
                sensitive=sensitive,
                quasi={"age": {}},
                method={"name": "t_mondrian"},
            ),
        )
