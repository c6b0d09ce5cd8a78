"""Releases that continue one another: what an adversary learns by comparing them, judged by code of
its own.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import os
import re
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from deltalake import DeltaTable, write_deltalake
from jsonschema import Draft202012Validator
from oracle.distances import distance, shares
from people import list_again, run_stages
from town import DISEASES, ROLES, Shown, cells, first_shown, forget_successor, months, rows
from typer.testing import CliRunner

import tclose_spark as tc
from tclose_spark import pipeline
from tclose_spark.cli.commands import app
from tclose_spark.errors import (
    ConfigurationError,
    GuaranteeError,
    InputError,
    SameInputError,
    UnreachableError,
)
from tclose_spark.io.run import Run
from tclose_spark.options.lines.judge import LinesFigures
from tclose_spark.stages import publish
from tclose_spark.stages.verify import verify_finished
from tclose_spark.table.atoms import ATOMS
from tclose_spark.table.people import hash_people, person_hash

K, T = 4, Fraction(2, 5)
SECRET = "one secret for all releases of the town"
Release = Callable[..., tuple[Path, Mapping[str, Any]]]


@pytest.fixture(autouse=True)
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TCLOSE_SECRET", SECRET)


def hashed(person: str) -> int:
    """The hash of a person in the evidence."""
    found: int = hash_people(pa.array([person]), person_hash(SECRET))[0].as_py()
    return found


def other_than(disease: str) -> str:
    return next(one for one in DISEASES if one != disease)


@pytest.fixture(scope="module")
def begun(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of first releases, which several tests continue."""
    return tmp_path_factory.mktemp("begun")


@pytest.fixture
def release(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    begun: Path,
) -> Release:
    """`release(number, town, after=..., leavers=..., **roles)`: (the output, the certificate).

    A first release of the same rows by the same run file is a copy.
    """

    def made(number: int, town: Mapping[str, Any], after: int | None = None, **given: Any) -> Any:
        output = {key: given.pop(key) for key in ("leavers",) if key in given}
        output |= {} if after is None else {"after": f"../{after}/out"}
        conf = write_run(tmp_path / str(number), rows(town), output=output, **{**ROLES, **given})
        out = conf.parent / "out"
        if after is not None:
            return out, pipeline.release(open_run(conf))
        key = (
            conf.read_bytes(),
            (conf.parent / "people.parquet").read_bytes(),
            os.environ.get("TCLOSE_SECRET"),
        )
        known = begun / hashlib.sha256(repr(key).encode()).hexdigest()
        if not known.exists():
            pipeline.release(open_run(conf))
            shutil.copytree(out, known)
        elif not out.exists():
            shutil.copytree(known, out)
        return out, json.loads((out / "public/certificate.json").read_text())

    return made


def line_of(
    release: Release,
    town: list[Mapping[str, Any]],
    **given: Any,
) -> tuple[list[Shown], list[Any]]:
    made = [release(i, now, after=i - 1 if i else None, **given) for i, now in enumerate(town)]
    return [Shown.of(output) for output, _ in made], [certificate for _, certificate in made]


@pytest.mark.parametrize(
    "seed",
    [0, *(pytest.param(seed, marks=pytest.mark.more) for seed in (1, 2))],
)
@pytest.mark.parametrize("leavers", ["withhold", "keep"])
def test_every_intersection_and_difference_is_a_union_of_atoms(
    leavers: str,
    seed: int,
    release: Release,
) -> None:
    releases, certificates = line_of(release, list(islice(months(seed, 120), 3)), leavers=leavers)
    first = first_shown(releases)
    for cell in cells(releases).values():
        assert len(cell) >= K
        assert len({first[p] for p in cell}) == 1, "people who were published together first"
    atoms = defaultdict(list)
    for person, place in first.items():
        atoms[(place, releases[place].class_of[person])].append(person)
    for place, class_ in atoms:  # newcomers of a class, by themselves
        newcomers = atoms[(place, class_)]
        assert len(newcomers) >= K
        assert releases[place].far(newcomers) <= T
    smallest = min(len(atom) for (place, _), atom in atoms.items())
    assert certificates[-1]["earlier"]["atoms"]["smallest"] == smallest
    assert certificates[-1]["earlier"]["atoms"]["all"] == len(atoms)
    assert len(releases[0].class_of) == 120


# --- kinds of tables


def by_number(
    town: Mapping[str, Any],
    column: str,
    value_of: Callable[[int, Any], Any],
) -> dict[str, Any]:
    """The town with other values of a column, which follow from a person's number and value."""
    changed = [value_of(int(one[1:]), x) for one, x in zip(town["id"], town[column], strict=True)]
    return {**town, column: changed}


def with_ranks(ranks: Sequence[Any]) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    return lambda town: by_number(
        town,
        "disease",
        lambda _, disease: ranks[DISEASES.index(disease)],
    )


def with_gaps(town: Mapping[str, Any]) -> dict[str, Any]:
    """A fifth of the people have no age, and a seventh no sex."""
    ageless = by_number(town, "age", lambda number, age: age if number % 5 else None)
    return by_number(ageless, "sex", lambda number, sex: sex if number % 7 else None)


def with_several_rows(town: Mapping[str, Any]) -> dict[str, Any]:
    """Every third person has one row, two, and three, with other ages and diseases."""
    at = [(i, row) for i, one in enumerate(town["id"]) for row in range(1 + int(one[1:]) % 3)]
    found: dict[str, Any] = {name: [column[i] for i, _ in at] for name, column in town.items()}
    found["age"] = [age + row for age, (_, row) in zip(found["age"], at, strict=True)]
    found["disease"] = [
        DISEASES[(DISEASES.index(disease) + row * int(one[1:])) % 4]
        for disease, one, (_, row) in zip(found["disease"], found["id"], at, strict=True)
    ]
    return found


ORDERED = {"distance": "ordered", "t": "0.4"}
DATES = tuple(dt.date(2020, month, 1) for month in (1, 3, 4, 9))
AGES = (12, 20, 35, 90)
ANY = {"quasi": {"age": {"type": "numeric", "missing": "any"}, "sex": {"missing": "any"}}}
KINDS: dict[
    str,
    tuple[Callable[[Mapping[str, Any]], Mapping[str, Any]], dict[str, Any], str | Sequence[Any]],
] = {
    "several rows": (with_several_rows, {}, "equal"),
    "missing: any": (with_gaps, ANY, "equal"),
    "listed order": (
        dict,
        {"sensitive": {"disease": {**ORDERED, "order": list(DISEASES)}}},
        DISEASES,
    ),
    "numbers": (with_ranks(AGES), {"sensitive": {"disease": ORDERED}}, AGES),
    "dates": (with_ranks(DATES), {"sensitive": {"disease": ORDERED}}, DATES),
}
"""By kind of table: how it becomes of the town, what the run file says, and the ground distance of
diseases.
"""


def diseases_of(output: Path) -> dict[int, Counter[Any]]:
    """The diseases of each published person."""
    found = defaultdict[int, Counter[Any]](Counter)
    for row in DeltaTable(str(output / "internal/people")).to_pyarrow_table().to_pylist():
        if not row["suppressed"]:
            found[row["person_hash"]][row["disease"]] += 1
    return found


@pytest.mark.parametrize("leavers", ["withhold", pytest.param("keep", marks=pytest.mark.more)])
@pytest.mark.parametrize("kind", KINDS)
def test_lines_of_tables_of_each_kind(kind: str, leavers: str, release: Release) -> None:
    """Over rows, and over people: who has few rows weighs as much as who has many."""
    shape, roles, ground = KINDS[kind]
    made = [
        release(i, shape(town), after=i - 1 if i else None, leavers=leavers, **roles)[0]
        for i, town in enumerate(islice(months(31, 120, arrive=0.5), 3))
    ]
    releases, diseases = (
        [Shown.of(output) for output in made],
        [diseases_of(output) for output in made],
    )
    first = first_shown(releases)
    atoms = defaultdict(list)
    for person, place in first.items():
        atoms[place, releases[place].class_of[person]].append(person)
    assert {place for place, _ in atoms} == {0, 1, 2}, "newcomers in each release"
    for (place, _), people in atoms.items():
        assert len(people) >= K
        for weight in (lambda counts: 1, lambda counts: Fraction(1, counts.total())):
            assert (
                distance(
                    *(weighed(diseases[place], some, weight) for some in (people, diseases[place])),
                    ground,
                )
                <= T
            )
        for later, known in zip(releases[place:], diseases[place:], strict=True):
            assert len({later.class_of.get(person) for person in people}) == 1
            assert all(known[p] == diseases[place][p] for p in people if p in known)
    for cell in cells(releases).values():
        assert len({first[p] for p in cell}) == 1
        assert len(cell) >= K


def weighed(
    diseases: Mapping[int, Counter[Any]],
    people: Iterable[int],
    weight: Callable[[Any], Any],
) -> Any:
    """The distribution of some people's diseases. weight: of a row, from its person's."""
    found: dict[Any, Fraction] = defaultdict(Fraction)
    for person in people:
        for disease, n in diseases[person].items():
            found[disease] += n * weight(diseases[person])
    return shares(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(200))
def test_intersections_of_drawn_histories(seed: int, release: Release) -> None:
    """Any shares of people arrive, leave and change, over three or four releases."""
    draw = np.random.default_rng(seed)
    arrive, leave, change = draw.uniform(0, 0.6), draw.uniform(0, 0.1), draw.uniform(0, 0.1)
    town = months(seed, int(draw.integers(40, 160)), arrive, leave, change)
    leavers = str(draw.choice(["withhold", "keep"]))
    try:
        releases, _ = line_of(
            release,
            list(islice(town, int(draw.integers(3, 5)))),
            leavers=leavers,
        )
    except UnreachableError:  # no atom is whole any more
        return
    first = first_shown(releases)
    for cell in cells(releases).values():
        assert len(cell) >= K
        assert len({first[p] for p in cell}) == 1
    for person, place in first.items():
        atom = [
            p
            for p, at in first.items()
            if (at, class_at(releases, p)) == (place, class_at(releases, person))
        ]
        assert len(atom) >= K
        assert releases[place].far(atom) <= T


def class_at(releases: list[Shown], person: int) -> Any:
    """The class of a person in the release that shows the person first."""
    return next(one.class_of[person] for one in releases if person in one.class_of)


def test_without_a_line_people_are_alone_in_an_intersection(release: Release) -> None:
    """The cells of these trials are not always large: releases that do not continue one another
    have small ones.
    """
    town = list(islice(months(0, 120), 2))
    shown = [Shown.of(release(i, now)[0]) for i, now in enumerate(town)]
    assert min(map(len, cells(shown).values())) < K


def leaver(town: Mapping[str, Any], person: str) -> dict[str, Any]:
    """The town without a person."""
    here = [one != person for one in town["id"]]
    return {
        name: [x for x, stays in zip(column, here, strict=True) if stays]
        for name, column in town.items()
    }


def test_the_others_of_an_atom_are_withheld_if_one_leaves(release: Release) -> None:
    town = next(months(1, 100))
    first, _ = release(0, town)
    second, certificate = release(1, leaver(town, "p7"), after=0)
    before, after = Shown.of(first), Shown.of(second)
    gone = before.class_of.keys() - after.class_of.keys()
    (class_,) = {before.class_of[p] for p in gone}
    assert gone == {p for p, one in before.class_of.items() if one == class_}
    assert (
        certificate["suppressed"]["rows"] == certificate["earlier"]["withheld"] == len(gone) - 1 > 0
    )
    assert certificate["earlier"]["newcomers"] == {"people": 0, "atoms": 0}
    assert certificate["earlier"]["waiting"] == 0
    assert f"{len(gone) - 1} people are withheld" in (second / "public/report.html").read_text()


def test_too_many_withheld_people_end_with_the_limit_that_would_do(release: Release) -> None:
    town = next(months(1, 100))
    release(0, town)
    limited = {**ROLES["privacy"], "suppression_limit": "0.01"}
    with pytest.raises(UnreachableError, match=r"of people whose atom is not whole.* would do"):
        release(1, leaver(town, "p7"), after=0, privacy=limited)


def test_people_who_left_or_changed_are_kept_as_they_were(release: Release) -> None:
    town = next(months(2, 100))
    first = Shown.of(release(0, town, leavers="keep")[0])
    now = leaver(town, "p7")
    at = now["id"].index("p9")
    now = {
        **now,
        "disease": [other_than(x) if i == at else x for i, x in enumerate(now["disease"])],
    }
    output, certificate = release(1, now, after=0, leavers="keep")
    assert Shown.of(output).disease == first.disease
    assert certificate["earlier"]["kept"] == 2
    assert any(
        "2 people are published as they were" in warning for warning in certificate["warnings"]
    )
    assert (
        "people who are published as they were are counted among them"
        in (output / "public/report.html").read_text()
    )
    whole = {p for p, class_ in first.class_of.items() if class_ == first.class_of[hashed("p7")]}
    gone: Mapping[str, Any] = town
    for person in town["id"]:
        gone = leaver(gone, person) if hashed(person) in whole else gone
    output, _ = release(2, gone, after=1, leavers="keep")
    assert Shown.of(output).class_of.keys() == first.class_of.keys() - whole
    output, certificate = release(
        3,
        leaver(town, "p7"),
        after=2,
        leavers="keep",
    )  # the others of p7's atom come back
    assert Shown.of(output).class_of.keys() == first.class_of.keys() - whole
    assert certificate["suppressed"]["rows"] == len(whole) - 1


def test_labels_cover_the_values_that_people_who_stay_have_now(release: Release) -> None:
    town = next(months(3, 100))
    release(0, town)
    older = {**town, "age": [age + 30 for age in town["age"]]}
    output, _ = release(1, older, after=0)  # the oracle compares labels with raw values
    ages = {hashed(person): age for person, age in zip(older["id"], older["age"], strict=True)}
    for person, (label, _) in Shown.of(output).class_of.items():
        low, *high = label.strip("[]").split(", ")
        assert int(low) <= ages[person] <= int(*high or [low])


def test_newcomers_wait_if_they_are_too_few(release: Release) -> None:
    town = next(months(4, 100))
    release(0, town)
    more = {name: [*column, *column[:3]] for name, column in town.items()} | {
        "id": [*town["id"], "a", "b", "c"],
    }
    output, certificate = release(1, more, after=0)
    assert certificate["suppressed"]["rows"] == certificate["earlier"]["waiting"] == 3
    assert certificate["earlier"]["withheld"] == 0
    assert "3 newcomers wait" in (output / "public/report.html").read_text()
    assert not Shown.of(output).class_of.keys() & {hashed("a"), hashed("b"), hashed("c")}


def test_atoms_that_are_too_far_from_the_new_table_are_merged(release: Release) -> None:
    town = next(months(5, 200))
    first = Shown.of(release(0, town)[0])
    many = {name: [*column, *column] for name, column in town.items()}
    many |= {"id": [f"n{i}" if i >= 200 else p for i, p in enumerate(many["id"])]}
    many |= {"disease": [*town["disease"], *(["flu"] * 120 + town["disease"][:80])]}
    output, certificate = release(1, many, after=0)
    done = json.loads((output / "internal/run.json").read_text())["stages"]["anonymize"]["method"]
    assert done["atoms_merged"] > 0
    assert done["atoms"] == len(set(first.class_of.values()))
    assert certificate["guarantees"]["t"]["disease"]["achieved"] <= float(T)


def test_a_line_in_one_output(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> None:
    """A scheduled run replaces its own output; the first time there is nothing to continue."""
    for number, town in enumerate(islice(months(6, 100, leave=0, change=0), 3), start=1):
        conf = write_run(tmp_path, rows(town), output={"after": "out"}, **ROLES)
        certificate = pipeline.release(open_run(conf, overwrite=True))
        assert certificate.get("earlier", {"number": 1})["number"] == number
    for if_changed in (True, False):
        said, again = list[str](), open_run(conf, overwrite=True)
        again.announce = said.append
        unchanged = pipeline.release(again, if_changed=if_changed)
        assert unchanged["earlier"] == certificate["earlier"]
        assert said[-1].endswith("so the line has no further release")
    history = tc.history(tmp_path / "out")
    assert [entry["rows"] for entry in history.entries] == [100, 120, 140]
    assert history.entries[-1]["fingerprint"] == certificate["release"]["fingerprint"]
    verify_finished(open_run(conf))


def test_the_same_month_adds_no_release_in_another_output(
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    town = list(islice(months(7, 100), 2))
    release(0, town[0])
    release(1, town[1], after=0)
    again = open_run(
        tmp_path / "1/run.yaml",
        f"output.path={tmp_path}/2/out",
        f"output.after={tmp_path}/1/out",
    )
    with pytest.raises(
        SameInputError,
        match=r"output\.after: .* from the same .* rows.*input\.path",
    ) as raised:
        pipeline.release(again)
    assert raised.value.exit_code == 2
    assert not (tmp_path / "2/out/public").exists()
    assert not (tmp_path / "1/out/internal/continued_by").exists()


def test_the_same_table_in_memory_adds_no_release(release: Release, tmp_path: Path) -> None:
    town = list(islice(months(7, 100, leave=0, change=0), 2))
    release(0, town[0])
    spec = yaml.safe_load((tmp_path / "0/run.yaml").read_text())
    del spec["input"], spec["output"]
    for now, adds in zip((town[0], town[1], town[1]), (True, True, False), strict=True):
        said = list[str]()
        tc.release(
            rows(now),
            spec,
            tmp_path / "own",
            overwrite=True,
            overrides=[f"output.after={tmp_path}/own"],
            engine="local",
            log=said.append,
        )
        assert said[-1].endswith("so the line has no further release") != adds
    assert len(tc.history(tmp_path / "own").entries) == 2


def test_a_run_that_broke_off_is_repeated(
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    town = list(islice(months(7, 100), 2))
    release(0, town[0])
    _, certificate = release(1, town[1], after=0)
    conf = tmp_path / "1/run.yaml"
    for stages in (["profile"], ["profile", "plan", "anonymize"]):
        forget_successor(tmp_path / "0/out")
        run_stages(open_run(conf, "output.path=other"), *stages)
        again = pipeline.release(open_run(conf, "output.path=other", overwrite=True), resume=True)
        assert again["release"]["fingerprint"] == certificate["release"]["fingerprint"]
        assert again["earlier"] == certificate["earlier"]
        for folder in sorted((tmp_path / "1/other").iterdir()):
            folder.rename(tmp_path / f"done-{len(stages)}-{folder.name}")


@pytest.mark.on_spark
@pytest.mark.parametrize("leavers", ["withhold", "keep"])
def test_both_engines_make_the_same_line(
    leavers: str,
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    _, on_spark = line_of(release, list(islice(months(8, 150), 2)), leavers=leavers)
    forget_successor(tmp_path / "0/out")
    again = tc.release(None, tmp_path / "1/run.yaml", tmp_path / "local", engine="local", log=None)
    assert again.certificate["release"]["fingerprint"] == on_spark[1]["release"]["fingerprint"]
    assert again.certificate["earlier"] == on_spark[1]["earlier"]


# --- what a line requires


def test_a_line_needs_an_earlier_release_of_people(release: Release) -> None:
    town = next(months(9, 60))
    with pytest.raises(ConfigurationError, match=r"output\.after: there is no finished release"):
        release(1, town, after=0)
    release(2, town, person=None, privacy={}, direct_identifiers=["id"])
    with pytest.raises(ConfigurationError, match="does not count people"):
        release(3, town, after=2)


def test_a_line_has_one_secret(
    release: Release,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    town = next(months(9, 60))
    release(0, town)
    monkeypatch.setenv("TCLOSE_SECRET", "another secret than that of the first release")
    with pytest.raises(
        ConfigurationError,
        match=r"another secret, .*; set TCLOSE_SECRET to its secret",
    ):
        release(1, town, after=0)
    monkeypatch.delenv("TCLOSE_SECRET")
    (tmp_path / "0/out/internal/secret").write_text("a random secret of a run that was refused")
    with pytest.raises(ConfigurationError, match="; set TCLOSE_SECRET to its secret"):
        release(1, town, after=0)
    (tmp_path / "0/out/internal/secret").write_text(SECRET)
    left = tmp_path / "1/out/internal/secret"
    with pytest.raises(ConfigurationError, match=f"; move {left} away"):
        release(1, town, after=0)
    monkeypatch.setenv("TCLOSE_SECRET", "another secret than that of the first release")
    with pytest.raises(ConfigurationError, match="; unset TCLOSE_SECRET"):
        release(1, town, after=0)
    monkeypatch.delenv("TCLOSE_SECRET")
    left.unlink()
    assert release(1, town, after=0)[1]["earlier"]["number"] == 2


def test_the_secret_of_the_first_output_is_taken_over(
    release: Release,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("TCLOSE_SECRET")
    town = next(months(9, 60))
    first, _ = release(0, town)
    second, _ = release(1, town, after=0)
    assert (first / "internal/secret").read_text() == (second / "internal/secret").read_text()
    assert Shown.of(first).class_of.keys() == Shown.of(second).class_of.keys()


@pytest.mark.parametrize(
    ("stricter", "named"),
    [
        ({"k": 40}, "k is stricter"),
        ({"sensitive": {"disease": {"t": "0.3"}}}, "t of disease is stricter"),
        (
            {"sensitive": {"disease": {"t": "0.4", "l": {"distinct": 3}}}},
            "l of disease is stricter",
        ),
    ],
)
def test_later_releases_require_no_more(
    stricter: dict[str, Any],
    named: str,
    release: Release,
) -> None:
    town = next(months(9, 120))
    release(0, town)
    with pytest.raises(UnreachableError, match=named):
        release(1, town, after=0, **stricter)


def test_an_output_that_is_not_part_of_the_line_is_not_replaced(
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    town = next(months(9, 60))
    release(0, town)
    release(1, town, after=0)
    with pytest.raises(ConfigurationError, match="would break its line"):
        pipeline.release(
            open_run(tmp_path / "1/run.yaml", "privacy.suppression_limit=0.9", overwrite=True),
        )


def test_a_release_has_one_successor(
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    town = list(islice(months(9, 60, leave=0, change=0), 2))
    release(0, town[0])
    output, certificate = release(1, town[1], after=0)
    with pytest.raises(
        ConfigurationError,
        match=r"/1/out/public continues the release in .*/0/out already",
    ):
        release(2, town[1], after=0)
    for folder in ("public", "internal"):
        shutil.rmtree(output / folder)
    again = pipeline.release(open_run(tmp_path / "1/run.yaml"))  # the same output may be made again
    assert again["release"]["fingerprint"] == certificate["release"]["fingerprint"]


def test_a_line_is_not_replaced_by_a_first_release(
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    town = next(months(9, 60))
    release(0, town)
    release(1, town, after=0)
    with pytest.raises(ConfigurationError, match="holds a release of a line"):
        pipeline.release(open_run(tmp_path / "1/run.yaml", "output.after=null", overwrite=True))


@pytest.mark.parametrize(
    "other",
    [
        {"distance": "ordered", "t": "0.4", "order": list(DISEASES)},
        {"distance": "ordered", "t": "0.4", "order": [*reversed(DISEASES[:2]), *DISEASES[2:]]},
    ],
)
def test_a_line_has_one_ground_distance(other: dict[str, Any], release: Release) -> None:
    town = next(months(9, 60))
    ordered = {"distance": "ordered", "t": "0.4", "order": list(DISEASES)}
    release(0, town, sensitive={"disease": ordered if other != ordered else {"t": "0.4"}})
    with pytest.raises(ConfigurationError, match="the ground distance of 'disease'"):
        release(1, town, after=0, sensitive={"disease": other})


def test_people_who_are_written_otherwise_are_not_taken_for_newcomers(release: Release) -> None:
    town = next(months(9, 60))
    release(0, town)
    with pytest.raises(
        ConfigurationError,
        match="none of the 60 people of earlier releases is in the input",
    ):
        release(1, {**town, "id": [f"{one}.0" for one in town["id"]]}, after=0)


def test_people_of_another_type_are_not_taken_for_newcomers(release: Release) -> None:
    town = next(months(9, 60))
    numbered = {**town, "id": list(range(60))}
    release(0, numbered)
    with pytest.raises(InputError, match="'id' is of type double, and was of type bigint"):
        release(1, {**numbered, "id": [float(i) for i in range(60)]}, after=0)


def test_a_publication_that_broke_off_adds_one_release(
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> None:
    for town in islice(months(9, 60, leave=0, change=0), 2):
        conf = write_run(tmp_path, rows(town), output={"after": "out"}, **ROLES)
        if not (tmp_path / "out").exists():
            pipeline.release(open_run(conf))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish, "_keep", lambda run: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            pipeline.release(open_run(conf, overwrite=True))
    pipeline.release(open_run(conf, overwrite=True))
    assert len(tc.history(tmp_path / "out").entries) == 2


def test_changed_evidence_is_not_continued(release: Release) -> None:
    town = next(months(9, 60))
    output, _ = release(0, town)
    file = next((output / "internal/people").glob("*.parquet"))
    file.write_bytes(file.read_bytes() + b" ")
    with pytest.raises(ConfigurationError, match="was changed after its publication"):
        release(1, town, after=0)


def test_people_were_in_one_class_each(release: Release) -> None:
    """Otherwise two people whose rows share one class and not another are told apart by the second
    release.
    """
    town = next(months(9, 60))
    release(0, town, person={"column": "id", "rows": "apart"})
    with pytest.raises(ConfigurationError, match="rows of a person may be in several classes"):
        release(1, town, after=0)


def test_evidence_of_another_certificate_is_not_continued(release: Release) -> None:
    """A publication that broke off leaves the new certificate beside the older evidence."""
    town = next(months(9, 60))
    output, _ = release(0, town)
    path = output / "public/certificate.json"
    path.write_text(path.read_text() + " ")
    with pytest.raises(ConfigurationError, match="is not that of the certificate"):
        release(1, town, after=0)
    path.write_text("{")
    with pytest.raises(ConfigurationError, match="is damaged"):
        release(1, town, after=0)


@pytest.mark.parametrize(
    "damage",
    ["[", "[" * 10_000, "{}", "[]", "3", '["a"]', '[{"rows": 3}]', "1/0"],
)
def test_a_damaged_history_is_not_continued(damage: str, release: Release, tmp_path: Path) -> None:
    town = next(months(9, 60))
    release(0, town)
    output, _ = release(1, town, after=0)
    file = output / "internal/history.json"
    file.write_text(file.read_text().replace('"2/5"', '"1/0"') if damage == "1/0" else damage)
    with pytest.raises(ConfigurationError, match="was changed after its publication"):
        release(2, town, after=1)
    list_again(output)
    for read in (lambda: release(2, town, after=1), lambda: tc.history(output)):
        with pytest.raises(
            ConfigurationError,
            match=r"1/out: the certificate or the evidence .*damaged",
        ):
            read()


@pytest.mark.parametrize(
    ("file", "keys"),
    [
        ("internal/run.json", ("stages", "profile", "types")),
        ("internal/run.json", ("stages", "profile", "distances")),
        ("internal/run.json", ("stages", "report", "files")),
        ("public/certificate.json", ("issued",)),
        ("public/certificate.json", ("people", "rows_of_a_person")),
    ],
)
def test_files_of_an_older_version_are_not_continued(
    file: str,
    keys: tuple[str, ...],
    release: Release,
) -> None:
    town = next(months(9, 60))
    output, _ = release(0, town)
    found = whole = json.loads((output / file).read_text())
    for key in keys[:-1]:
        found = found[key]
    del found[keys[-1]]
    (output / file).write_text(json.dumps(whole))
    if file.startswith("public"):
        list_again(output)
    with pytest.raises(
        ConfigurationError,
        match=f"lacks '{keys[-1]}', .* an older version of tclose_spark made it",
    ):
        release(1, town, after=0)


@pytest.mark.parametrize("lost", ["public", "internal"])
def test_an_output_without_one_of_its_folders_begins_no_new_line(
    lost: str,
    tmp_path: Path,
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
) -> None:
    town = next(months(9, 60))
    conf = write_run(tmp_path, rows(town), output={"after": "out"}, **ROLES)
    pipeline.release(open_run(conf))
    (tmp_path / "out" / lost).rename(tmp_path / "elsewhere")
    with pytest.raises(ConfigurationError, match="no finished release"):
        pipeline.release(open_run(conf, overwrite=True))


def test_kept_values_have_the_type_that_they_had(release: Release) -> None:
    """The code of a date is no code of a time."""
    dated = rows(next(months(9, 60))).to_pydict()
    dated["age"] = [f"20{age:02d}-01-01" for age in dated["age"]]
    of = {kind: {"age": {"type": kind}, "sex": {}} for kind in ("date", "timestamp")}
    release(0, dated, leavers="keep", quasi=of["date"])
    with pytest.raises(ConfigurationError, match="has values of 'age' as type date"):
        release(1, leaver(dated, "p7"), after=0, leavers="keep", quasi=of["timestamp"])


TEXT, SHORT, LONG, DOUBLE = pa.string(), pa.int32(), pa.int64(), pa.float64()


def typed(town: Mapping[str, Any], kind: pa.DataType, *columns: str) -> dict[str, pa.Array]:
    """The town with columns of this type."""
    table = rows(town)
    return {
        name: table[name].cast(kind) if name in columns else table[name]
        for name in table.column_names
    }


def in_grades(n: int) -> dict[str, Any]:
    """A town whose sensitive attribute and a further column are numbers."""
    town = next(months(9, n))
    return {
        **town,
        "disease": [DISEASES.index(one) for one in town["disease"]],
        "area": [i % 3 for i in range(n)],
    }


@pytest.mark.parametrize(
    ("leavers", "column", "before", "now"),
    [
        ("keep", "age", TEXT, LONG),  # quasi-identifier
        ("keep", "age", LONG, DOUBLE),
        ("keep", "area", TEXT, LONG),  # insensitive
        ("keep", "area", LONG, SHORT),
        ("keep", "disease", DOUBLE, LONG),
        ("withhold", "disease", LONG, DOUBLE),
    ],
)
def test_columns_have_the_types_that_they_had(
    leavers: str,
    column: str,
    before: pa.DataType,
    now: pa.DataType,
    release: Release,
    tmp_path: Path,
) -> None:
    town, names = in_grades(60), {TEXT: "string", SHORT: "int", LONG: "bigint", DOUBLE: "double"}
    given = {"leavers": leavers, "insensitive_attributes": ["area"]}
    release(0, typed(town, before, column), **given)
    with pytest.raises(
        InputError,
        match=f"'{column}' is of type {names[now]}, and was of type {names[before]}",
    ):
        release(1, typed(leaver(town, "p7"), now, column), after=0, **given)
    assert not (tmp_path / "1/out/public/release").exists()


def test_the_column_of_people_may_have_another_name(release: Release) -> None:
    town = next(months(9, 60))
    release(0, town)
    renamed = {"whose" if name == "id" else name: column for name, column in town.items()}
    _, certificate = release(1, renamed, after=0, person="whose")
    assert certificate["release"]["rows"] == 60


@pytest.mark.parametrize(
    ("leavers", "before", "now"),
    [("keep", SHORT, LONG), ("withhold", LONG, SHORT)],
)
def test_integers_may_have_another_size(
    leavers: str,
    before: pa.DataType,
    now: pa.DataType,
    release: Release,
) -> None:
    """With kept rows, a larger one."""
    town, given = in_grades(60), {"leavers": leavers, "insensitive_attributes": ["area"]}
    columns = ("age", "area", "disease")
    release(0, typed(town, before, *columns), **given)
    _, certificate = release(1, typed(leaver(town, "p7"), now, *columns), after=0, **given)
    assert certificate["earlier"]["kept"] == (leavers == "keep")
    assert certificate["release"]["rows"] > 40


@pytest.mark.parametrize(
    ("quasi", "found"),
    [
        (
            {"age": {"type": "numeric", "range": [0, 89]}, "sex": {}},
            r"age.range: 1 values in 1 rows are outside",
        ),
        (
            {"age": {"type": "numeric"}, "sex": {"hierarchy": "../sexes.csv"}},
            "'sex': its hierarchy lacks 1 value in 1 rows",
        ),
    ],
)
def test_ranges_and_hierarchies_cover_kept_rows(
    quasi: dict[str, Any],
    found: str,
    release: Release,
    tmp_path: Path,
) -> None:
    (tmp_path / "sexes.csv").write_text("f;*\nm;*\n")
    town = next(months(9, 60))
    town |= {"age": [*town["age"][:59], 90], "sex": [*town["sex"][:59], "x"]}
    release(0, town, leavers="keep")
    with pytest.raises(
        InputError,
        match=f"(?s){found}.*1 people who left or changed .*output.leavers: keep",
    ):
        release(1, leaver(town, "p59"), after=0, leavers="keep", quasi=quasi)
    problems = json.loads((tmp_path / "1/out/internal/problems.json").read_text())
    assert [value["rows"] for value in problems["values"]] == [1]


@pytest.mark.parametrize("order", ["value", "frequency"])
def test_values_of_withheld_people_are_not_in_the_domain(order: str, release: Release) -> None:
    """Distances of an ordered attribute are those over the released values, when newcomers are
    planned, too.
    """
    town = {**next(months(9, 160)), "disease": [str(i * 7 % 4) for i in range(160)]}
    sensitive = {"disease": {"distance": "ordered", "t": "0.25", "order": order}}
    table = {**town, "disease": [int(x) for x in town["disease"]]}
    first = Shown.of(release(0, table, sensitive=sensitive)[0])
    atom = {p for p in first.class_of if first.class_of[p] == min(first.class_of.values())}
    other = [
        1000 + i if hashed(p) in atom else x
        for i, (p, x) in enumerate(zip(town["id"], table["disease"], strict=True))
    ]
    more = {n: [*column, *column[:60]] for n, column in {**table, "disease": other}.items()}
    more["id"][160:], more["disease"][160:] = (
        [f"n{i}" for i in range(60)],
        [3 if i % 5 < 3 else i % 3 for i in range(60)],
    )
    _, certificate = release(1, more, after=0, sensitive=sensitive)
    assert certificate["suppressed"]["rows"] == len(atom)
    assert certificate["attributes"]["sensitive"]["disease"]["m"] == 4


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"person": None, "direct_identifiers": ["id"]}, "recognized by attributes.person"),
        ({"person": {"column": "id", "rows": "apart"}}, "rows: together"),
        ({"method": {"name": "closeness_tree", "overlap": "none"}}, "overlap: allowed"),
        ({"privacy": {"of": "input"}}, "expected privacy.of: released"),
        ({"quasi": {"age": {"type": "numeric", "coarsest": 10}, "sex": {}}}, "age.coarsest"),
    ],
)
def test_what_does_not_go_with_a_line(
    given: dict[str, Any],
    message: str,
    release: Release,
) -> None:
    with pytest.raises(ConfigurationError, match=message):
        release(1, next(months(9, 60)), after=0, **given)


# --- the verifier


@pytest.mark.parametrize(
    ("damage", "found"),
    [
        ("split", "atoms are in several classes"),
        ("lost atom", "internal/atoms has not the atoms of the earlier releases"),
        ("other values", "have other sensitive values than in the earlier release"),
        ("no atom", "published people are in no atom"),
        ("few newcomers", "newcomers alone: 1 classes .* are smaller than k = 4"),
        ("in part", "atoms are published in part"),
    ],
)
def test_the_verifier_judges_atoms(
    damage: str,
    found: str,
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
    write_run: Any,
) -> None:
    town = list(islice(months(10, 150, leave=0, change=0), 2))
    release(0, town[0])
    run = open_run(write_run(tmp_path / "1", rows(town[1]), output={"after": "../0/out"}, **ROLES))
    run_stages(run, "profile", "plan", "anonymize")
    path = tmp_path / "1/out/internal/staging/atoms"
    atoms = DeltaTable(str(path)).to_pyarrow_table().to_pandas()
    old = atoms.index[atoms.since == 1]
    size = atoms.groupby("atom")["atom"].transform("size")
    if (
        damage == "split"
    ):  # one atom in two classes: two old atoms of different classes are said to be one
        one, other = atoms.loc[old, "atom"].unique()[:2]
        atoms.loc[atoms.atom == one, "atom"] = other
    elif damage == "lost atom":
        atoms = atoms[atoms.atom != atoms.loc[old[0], "atom"]]
    elif damage == "other values":
        atoms.loc[old[0], "sensitive_values"] += 1
    elif damage == "no atom":
        atoms = atoms.drop(index=atoms.index[atoms.since == 2][0])
    elif damage == "few newcomers":
        new = atoms.index[atoms.since == 2]
        smallest = atoms.loc[new].iloc[size[new].argmin()].atom
        of_one = atoms.index[atoms.atom == smallest]
        atoms.loc[of_one[1:], ["atom", "since"]] = [atoms.loc[old[0], "atom"], 1]
    elif damage == "in part":
        ghost = {**atoms.loc[old[0]].to_dict(), "person_hash": 77}
        atoms.loc[len(atoms)] = ghost
    shutil.rmtree(path)
    write_deltalake(str(path), pa.Table.from_pandas(atoms, ATOMS, preserve_index=False))
    with pytest.raises(GuaranteeError, match=found):
        pipeline.verify(run)


def test_finished_releases_of_a_line_are_judged_again(
    release: Release,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    town = list(islice(months(11, 100, leave=0, change=0), 2))
    release(0, town[0])
    output, _ = release(1, town[1], after=0)
    run = open_run(tmp_path / "1/run.yaml")
    assert verify_finished(run).holds
    conf = tmp_path / "1/run.yaml"  # as of a release with --after
    without = yaml.safe_load(conf.read_text())
    del without["output"]["after"]
    conf.write_text(yaml.safe_dump(without))
    assert verify_finished(open_run(conf)).figures.of(LinesFigures).atoms["all"] > 0
    certificate = json.loads((output / "public/certificate.json").read_text())
    certificate["earlier"]["atoms"]["smallest"] += 1
    (output / "public/certificate.json").write_text(json.dumps(certificate))
    list_again(output)
    with pytest.raises(GuaranteeError, match=r"certificate .* does not describe the release"):
        verify_finished(run)


# --- what a run says of a line


@pytest.fixture
def run_of(tmp_path: Path, write_run: Callable[..., Path]) -> Callable[..., list[str]]:
    """`run_of(town, output)`: what a release into one output prints."""

    def released(town: Mapping[str, Any], **output: Any) -> list[str]:
        lines: list[str] = []
        conf = write_run(tmp_path, rows(town), output={"after": "out", **output}, **ROLES)
        tc.release(None, conf, engine="local", overwrite=True, log=lines.append)
        return lines

    return released


def test_a_line_that_begins_says_so(run_of: Callable[..., list[str]]) -> None:
    town = list(islice(months(0, 80, leave=0, change=0), 2))
    begins = "so a line begins; nothing is promised about other lines"
    assert begins in "\n".join(run_of(town[0]))
    assert begins not in "\n".join(run_of(town[1]))


def test_a_release_after_which_leavers_cannot_be_kept_says_so(
    run_of: Callable[..., list[str]],
) -> None:
    town = list(islice(months(0, 80, leave=0, change=0), 3))
    ends = (
        "output.leavers was keep in the earlier release; no later release of the line can keep "
        "leavers again"
    )
    assert ends not in "\n".join(
        [*run_of(town[0], leavers="keep"), *run_of(town[1], leavers="keep")],
    )
    assert ends in "\n".join(run_of(town[2], leavers="withhold"))


def test_most_people_with_other_values_are_noted(run_of: Callable[..., list[str]]) -> None:
    town = next(months(0, 80))
    run_of(town, leavers="keep")
    shouted = {**town, "disease": [one.upper() for one in town["disease"]]}
    assert (
        "80 of 80 people have other sensitive values than before; are values written alike?"
        in "\n".join(run_of(shouted, leavers="keep"))
    )


# --- what people see


def test_the_history_of_a_table(release: Release, tmp_path: Path) -> None:
    town = list(islice(months(12, 100), 3))
    _, certificates = line_of(release, town)
    plot = tmp_path / "history.svg"
    done = CliRunner().invoke(app, ["history", str(tmp_path / "2/out"), "--plot", str(plot)])
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert len(lines) == 4
    assert [line.split()[2] for line in lines[1:]] == [
        str(c["release"]["rows"]) for c in certificates
    ]
    assert [line.split()[9] for line in lines] == ["t", "0.4", "0.4", "0.4"]
    assert "suppressed rows" in plot.read_text()
    entries = json.loads(
        CliRunner().invoke(app, ["history", str(tmp_path / "2/out"), "--json"]).output,
    )
    assert [entry["fingerprint"] for entry in entries] == [
        c["release"]["fingerprint"] for c in certificates
    ]
    assert certificates[2]["earlier"]["releases"] == [entry["fingerprint"] for entry in entries[:2]]
    one = tc.history(tmp_path / "0/out")
    assert [entry["rows"] for entry in one.entries] == [100]


def test_a_history_needs_a_release(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="has no finished release"):
        tc.history(tmp_path)


def test_certificate_report_and_console_have_the_line(
    release: Release,
    tclose: Callable[..., tuple[int, str, str]],
    tmp_path: Path,
) -> None:
    town = list(islice(months(13, 100, leave=0, change=0), 2))
    release(0, town[0])
    output, certificate = release(1, town[1], after=0)
    schema = json.loads((Path(tc.__file__).parent / "report/certificate.schema.json").read_text())
    Draft202012Validator(schema).validate(json.loads(json.dumps(certificate)))
    reports = [(made / "public/report.html").read_text() for made in (tmp_path / "0/out", output)]
    assert ["Earlier releases of this table" in report for report in reports] == [False, True]
    assert ["They cover this table alone." in report for report in reports] == [True, False]
    assert "the earlier releases of its line. Other tables" in reports[1]
    forget_successor(tmp_path / "0/out")
    left = leaver(town[1], "p7")
    pq.write_table(rows(left), tmp_path / "1/people.parquet")
    code, told, _ = tclose(
        "release",
        tmp_path / "1/run.yaml",
        "--after",
        tmp_path / "0/out",
        "--set",
        "output.path=third",
    )
    assert code == 0
    again = ["--after", tmp_path / "0/out", "--set", "output.path=third", "--finished"]
    assert tclose("verify", tmp_path / "1/run.yaml", *again)[0] == 0
    assert "release of its line" in told
    assert f"2, {certificate['earlier']['newcomers']['people']} people for the first time" in told
    assert f"people of the input {len(left['id'])}, one with 1 rows" in " ".join(told.split())
    assert re.search(r"suppressed people +\d+ withheld\n", told)
