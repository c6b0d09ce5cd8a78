"""docs/every_month.md: lines of releases. Atoms are counted from `internal/people` by code of its
own.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from oracle.distances import distance, shares
from oracle.judge import judge
from promise_page import promises
from town import ROLES, Shown, cells, first_shown, forget_successor, months, rows

from tclose_spark import pipeline
from tclose_spark.errors import GuaranteeError, UnreachableError
from tclose_spark.io.run import Run

K, T = ROLES["k"], Fraction(ROLES["sensitive"]["disease"]["t"])
Line = tuple[Sequence[Shown], Sequence[Mapping[str, Any]], Path]


@pytest.fixture(scope="module", params=["withhold", "keep"])
def line(
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> Line:
    """(what three monthly releases show, their certificates, the folder of their runs)."""
    folder, shown, certificates = tmp_path_factory.mktemp("line"), [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCLOSE_SECRET", "one secret for all releases of the town")
        for month, town in enumerate(islice(months(21, 150), 3)):
            output = {
                "leavers": request.param,
                **({"after": f"../{month - 1}/out"} if month else {}),
            }
            conf = write_run(folder / str(month), rows(town), output=output, **ROLES)
            certificates.append(pipeline.release(open_run(conf)))
            shown.append(Shown.of(conf.parent / "out"))
    return shown, certificates, folder


def atoms_of(releases: Sequence[Shown]) -> dict[tuple[int, Any], list[int]]:
    """The people whom a release published first, by its place and their class."""
    found = defaultdict(list)
    for person, place in first_shown(releases).items():
        found[place, releases[place].class_of[person]].append(person)
    return dict(found)


@promises(
    "Every atom has at least k people, and meets every t and l by itself in the release that "
    "publishes it first.",
    "The certificate lists the fingerprints of the earlier releases, the number of atoms, and the "
    "smallest.",
    "the number of atoms, of newcomers, and of kept, withheld and waiting people, and the "
    "fingerprints of earlier",
)
def test_atoms_are_classes_by_themselves(line: Line) -> None:
    releases, certificates, _ = line
    atoms = atoms_of(releases)
    assert {place for place, _ in atoms} >= {0, 2}
    for (place, _), people in atoms.items():
        assert len(people) >= K
        assert releases[place].far(people) <= T
    entry = certificates[2]["earlier"]
    assert entry["releases"] == [one["release"]["fingerprint"] for one in certificates[:2]]
    assert entry["atoms"]["all"] == len(atoms)
    assert entry["atoms"]["smallest"] == min(map(len, atoms.values()))
    assert entry["newcomers"]["people"] == sum(
        len(people) for (place, _), people in atoms.items() if place == 2
    )
    suppressed = certificates[2]["people"]["people"] - len(releases[2].class_of)
    assert entry["withheld"] + entry["waiting"] == suppressed


@promises(
    "Every class is a union of atoms.",
    "A later release publishes an atom as a whole and in one class, or not at all.",
    "The people of an atom have the sensitive values that they had.",
)
def test_classes_are_unions_of_atoms(line: Line) -> None:
    releases, *_ = line
    for (place, _), people in atoms_of(releases).items():
        for later in releases[place:]:
            assert len({later.class_of.get(person) for person in people}) == 1
        for later in releases[place:]:
            there = [person for person in people if person in later.disease]
            assert [later.disease[p] for p in there] == [releases[place].disease[p] for p in there]


@promises(
    "Every intersection and every difference of classes of the line is empty, or has at least k "
    "people",
    "Intersections and differences of classes are empty, or have at least k people.",
    "So a set that is made from classes by unions, intersections and differences is a union of "
    "atoms.",
)
def test_intersections_and_differences_have_k_people(line: Line) -> None:
    releases, *_ = line
    found = cells(releases)  # every set made of classes is a union of these
    assert min(map(len, found.values())) >= K
    atoms = [set(people) for people in atoms_of(releases).values()]
    for people in found.values():
        assert {p for atom in atoms if atom & set(people) for p in atom} == set(people)


@promises(
    "Every union of atoms is within t of a mixture of the tables in which its atoms were "
    "published first",
    "So the union is within t of the mean, with these weights, of the tables in which its atoms "
    "were published first.",
)
def test_intersections_and_differences_are_close_to_a_mixture(line: Line) -> None:
    releases, *_ = line
    first = first_shown(releases)
    for people in cells(releases).values():
        values = shares(Counter(releases[first[p]].disease[p] for p in people))
        weights = shares(Counter(first[p] for p in people))
        mixed: dict[str, Fraction] = defaultdict(Fraction)
        for place, weight in weights.items():
            for value, share in releases[place].whole.items():
                mixed[value] += weight * share
        assert distance(values, mixed, "equal") <= T


@promises(
    "The requirements are those of the line.",
    "A later release may require less.",
    "One that requires more than the atoms have is refused",
)
def test_later_releases_may_require_less(
    line: Line,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *_, folder = line
    monkeypatch.setenv("TCLOSE_SECRET", "one secret for all releases of the town")
    town, output = next(months(21, 150)), {"after": "../0/out"}
    forget_successor(folder / "0/out")
    less = write_run(folder / "less", rows(town), output=output, **{**ROLES, "k": K - 1})
    assert pipeline.release(open_run(less, overwrite=True))["earlier"]["number"] == 2
    forget_successor(folder / "0/out")
    more = write_run(folder / "more", rows(town), output=output, **{**ROLES, "k": 30})
    with pytest.raises(UnreachableError, match="k is stricter") as refused:
        pipeline.release(open_run(more))
    assert refused.value.exit_code == 3


@promises(
    "Rows of the earlier release take the place of those of people who left or changed",
    "With `output.leavers: keep`, some records are those of an earlier release.",
    "Their labels cover the values of that time.",
    "The promise holds of these rows, too.",
    "The certificate counts these people (`kept`) and warns.",
)
def test_kept_people_are_published_as_they_were(line: Line) -> None:
    releases, certificates, folder = line
    kept = certificates[1]["earlier"]["kept"]
    if "leavers: withhold" in (folder / "1/run.yaml").read_text():
        assert kept == 0
        return
    assert releases[1].disease.items() >= releases[0].disease.items()
    assert kept > 0
    assert any("as they were" in warning for warning in certificates[1]["warnings"])
    assert not judge(folder / "1/out/public", None, [])


@promises(
    "The verifier counts the people of atoms from `internal/people` and `internal/atoms`, and "
    "compares the atoms with",
)
def test_the_verifier_counts_atoms(
    line: Line,
    open_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    *_, folder = line
    monkeypatch.setenv("TCLOSE_SECRET", "one secret for all releases of the town")
    forget_successor(folder / "1/out")
    run = open_run(folder / "2/run.yaml", "output.path=again")
    for stage in ("profile", "plan", "anonymize"):
        getattr(pipeline, stage)(run)
    state = json.loads(run.staging.read("run.json"))
    state["stages"]["profile"]["earlier"]["atoms"] = "1-0000000000000001"
    run.staging.write("run.json", json.dumps(state))
    with pytest.raises(
        GuaranteeError,
        match="internal/atoms has not the atoms of the earlier releases",
    ):
        pipeline.verify(run)
