"""Suppressed rows: how many there may be, what is published of them, and what they must hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml
from left_out_people import LEFT, MANY, ROWS
from oracle.labels import ends
from oracle.third_party import Counts, ThirdParty, certificate_of, distance, reached, read_table
from promise_page import promises

from tclose_spark import pipeline

K, T = 5, "0.3"
ZIPS = [f"zip-{letter}" for letter in "ABCDEFGH"]
UNLIKE = {"zip": ["zip-Z"] * 10 + ["zip-Y"] * 2, "disease": ["gout"] * 10 + ["anthrax"] * 2}
"""Ten people of one zip who have one disease, and two of another."""
PEOPLE = {
    "zip": [ZIPS[i // 10] for i in range(80)] + UNLIKE["zip"],
    "disease": [["flu", "gout"][i % 2] for i in range(80)] + UNLIKE["disease"],
}


@pytest.fixture(scope="module")
def of_released(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished output by t-Incognito, which leaves out those who are unlike the others, of:
    released.
    """
    path = write_run(
        tmp_path_factory.mktemp("of-released"),
        pa.table(PEOPLE),
        quasi={"zip": {}},
        sensitive={"disease": {"t": T}},
        k=K,
        privacy={"suppression_limit": "0.15", "of": "released"},
        method={"name": "t_incognito"},
        output={"keep_linked": True},
    )
    pipeline.release(open_run(path))
    return path.parent / "out"


def public_bytes(output: Path) -> str:
    """All that is public, as text: the files, and the table as it is read."""
    files = [
        path.read_text(errors="replace")
        for path in (output / "public").rglob("*")
        if path.is_file()
    ]
    return "\n".join([*files, str(read_table(output / "public/release"))])


def suppressed_of(output: Path) -> list[dict[str, Any]]:
    return [row for row in read_table(output / "internal/linked") if row["suppressed"]]


Release = Callable[..., tuple[int, str]]


@pytest.fixture
def release(
    run_file: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
    with_every_k: Callable[[], Any],
) -> Release:
    """`release(suppress, privacy, diseases, **sensitive)`: exit code and messages of a release of
    40 people without the oldest; nothing is public if it failed.
    """

    def of(
        suppress: int,
        privacy: dict[str, Any],
        diseases: list[str],
        **asked: Any,
    ) -> tuple[int, str]:
        table = {"age": list(range(40)), "disease": diseases}
        path = run_file(
            table,
            quasi={"age": {"type": "numeric"}},
            sensitive={"disease": asked},
            k=K,
            privacy=privacy,
            method={"name": "every_k", "any_t": True, "suppress": suppress},
        )
        with with_every_k():
            code, _, err = tclose("release", path)
        assert bool(list(path.parent.glob("out/public/*"))) == (code == 0)
        return code, err

    return of


DISEASES = ["flu", "gout"] * 20


@promises("A method may suppress rows, up to `privacy.suppression_limit`")
def test_as_many_rows_as_the_limit_may_be_left_out(left_out: Path, release: Release) -> None:
    assert len(read_table(left_out / "public/release")) == ROWS - LEFT
    assert LEFT == ROWS / 10
    code, err = release(1, {"of": "released"}, DISEASES)  # 0 by default
    assert code == 1
    assert "1 are suppressed, and privacy.suppression_limit allows 0" in err


@promises("A release that lacks one row more ends with exit code 1.")
def test_one_row_more_is_exit_code_1(release: Release) -> None:
    code, err = release(7, {"suppression_limit": "0.15", "of": "released"}, DISEASES)
    assert code == 1
    assert "7 are suppressed, and privacy.suppression_limit allows 6" in err


@promises("No suppressed row is public.", "It publishes nothing of them")
def test_suppressed_rows_are_in_nothing_public(left_out: Path, of_released: Path) -> None:
    raw = {str(row["age_raw"]) for row in suppressed_of(left_out)}
    assert raw == {str(age) for age in MANY["age"][-LEFT:]}
    text = public_bytes(left_out).replace(",", "")  # as a page may write a number
    assert not [value for value in [*raw, "left-out note"] if value in text]
    assert str(MANY["age"][0]) in text
    assert not [
        value for value in ("zip-Z", "zip-Y", "anthrax") if value in public_bytes(of_released)
    ]
    assert "zip-A" in public_bytes(of_released)


@promises("The certificate reports their number and the limit")
def test_their_number_and_the_limit_are_reported(left_out: Path, of_released: Path) -> None:
    for output, rows, limit in ((left_out, LEFT, "1/10"), (of_released, 12, "3/20")):
        suppressed = certificate_of(output)["suppressed"]
        assert (suppressed["rows"], suppressed["limit_exact"]) == (rows, limit)
        assert rows == len(suppressed_of(output))


@promises("Each suppressed row counts as an information loss of 1.")
def test_each_counts_as_a_loss_of_1(of_released: Path) -> None:
    assert {row["zip"] for row in read_table(of_released / "public/release")} == set(
        ZIPS,
    )  # which lose nothing
    assert certificate_of(of_released)["utility"]["ncp"] == pytest.approx(12 / 92)


@promises("`privacy.of` has two settings")
def test_of_has_two_settings(
    run_file: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
) -> None:
    code, _, err = tclose("profile", run_file(None, privacy={"of": "population"}))
    assert code == 2
    assert "privacy.of: found 'population'; expected 'input' or 'released'" in err


@promises("Classes are compared with all input rows.")
def test_by_default_classes_are_compared_with_all_input_rows(left_out: Path) -> None:
    settings = yaml.safe_load((left_out.parent / "run.yaml").read_text())["privacy"]
    assert "of" not in settings
    party = ThirdParty(left_out / "public")
    for name in ("disease", "home"):
        whole = Counter(MANY[name])
        of_input = max(distance(party.sensitive[name], part, whole) for part in party.parts(name))
        of_released = max(
            distance(party.sensitive[name], part, party.released[name])
            for part in party.parts(name)
        )
        assert of_input != of_released
        assert party.certificate["guarantees"]["t"][name]["achieved_exact"] == str(of_input)


@promises("The certificate publishes the input's counts, so anyone can subtract the released rows")
def test_anyone_can_subtract_the_released_rows(left_out: Path) -> None:
    party = ThirdParty(left_out / "public")
    for name in ("disease", "mood", "home"):
        assert party.whole[name] - party.released[name] == Counter(MANY[name][-LEFT:])


@promises("The suppressed rows are therefore treated as a class")
def test_the_suppressed_rows_must_be_a_class(left_out: Path, release: Release) -> None:
    party = ThirdParty(left_out / "public")
    left = {name: [party.whole[name] - party.released[name]] for name in party.sensitive}
    assert reached(party.certificate["suppressed"]["guarantees"]) == party.guarantees(left)
    diseases = [*DISEASES[:36], "flu", "flu", "flu", "flu"]
    code, err = release(4, {"suppression_limit": "0.1"}, diseases, t="0.3", l={"distinct": 2})
    assert code == 1
    lines = [line for line in err.splitlines() if "the suppressed rows, a class" in line]
    assert len(lines) == 3
    for words in (
        "smaller than k = 5; the smallest has 4",
        "farther than t = 3/10",
        "less distinct l-diversity than 2",
    ):
        assert any(words in line for line in lines), (words, err)


@promises("Classes are compared with the released rows.")
def test_classes_are_compared_with_the_released_rows(of_released: Path) -> None:
    party = ThirdParty(of_released / "public")
    entry = party.sensitive["disease"]
    worst = max(distance(entry, part, party.released["disease"]) for part in party.parts("disease"))
    assert party.certificate["guarantees"]["t"]["disease"]["achieved_exact"] == str(worst) == "0"


@promises(
    "The certificate gives the number of suppressed rows and no counts",
    "The limit is all that the tool requires of them.",
)
def test_nothing_is_required_and_no_counts_are_given_of_them(of_released: Path) -> None:
    certificate = certificate_of(of_released)
    assert certificate["suppressed"].keys() == {"rows", "share", "limit", "limit_exact", "of"}
    assert "input" not in certificate["attributes"]["sensitive"]["disease"]
    left, whole = Counter(UNLIKE["disease"]), Counter(PEOPLE["disease"])
    assert far(left, whole) > 0.3 < far(left, whole - left)  # as a class they would not hold
    assert certificate["verdict"] == "holds"


def far(part: Counts, whole: Counts) -> float:
    """The equal distance, which is half the sum of differences."""
    return sum(abs(part[v] / part.total() - whole[v] / whole.total()) for v in part | whole) / 2


@promises(
    "A method may suppress the people who are unlike the others.",
    "The classes are then closer to the released table than to the input.",
)
def test_those_who_are_unlike_the_others_may_be_left_out(of_released: Path) -> None:
    assert Counter(row["disease"] for row in suppressed_of(of_released)) == Counter(
        UNLIKE["disease"],
    )
    released, people = (
        Counter(row["disease"] for row in read_table(of_released / "public/release")),
        PEOPLE["disease"],
    )
    for part in ThirdParty(of_released / "public").parts("disease"):
        assert far(part, released) < far(part, Counter(people))


@promises(
    "With either setting, an adversary who knows that a person is in the input and fits no class",
)
def test_who_fits_no_class_is_suppressed(left_out: Path, of_released: Path) -> None:
    ages = [[end for end, _ in ends(row["age"])] for row in read_table(left_out / "public/release")]
    fits = [any(of[0] <= row["age_raw"] <= of[-1] for of in ages) for row in linked(left_out)]
    assert Counter(fits) == {True: ROWS - LEFT, False: LEFT}
    assert [not fit for fit in fits] == [row["suppressed"] for row in linked(left_out)]
    zips = {row["zip"] for row in read_table(of_released / "public/release")}
    assert all((row["zip_raw"] in zips) != row["suppressed"] for row in linked(of_released))


def linked(output: Path) -> list[dict[str, Any]]:
    return read_table(output / "internal/linked")


@promises(
    "If at least k such people share their quasi-identifiers",
    "The class that they would form is farther than t or breaks an l",
)
def test_why_k_people_of_one_zip_are_suppressed(of_released: Path) -> None:
    released = Counter(row["disease"] for row in read_table(of_released / "public/release"))
    groups: dict[str, Counts] = {}
    for row in suppressed_of(of_released):
        groups.setdefault(row["zip_raw"], Counter())[row["disease"]] += 1
    assert {zip_: part.total() for zip_, part in groups.items()} == {"zip-Z": 10, "zip-Y": 2}
    assert far(groups["zip-Z"], released) > float(T)


@promises("`output.keep_linked` keeps suppressed rows in `internal/linked`")
def test_suppressed_rows_are_kept_inside(left_out: Path) -> None:
    kept = {(row["age_raw"], row["disease"], row["note"]) for row in suppressed_of(left_out)}
    assert kept == set(
        zip(*[MANY[name][-LEFT:] for name in ("age", "disease", "note")], strict=True),
    )
    assert (left_out / "internal").stat().st_mode & 0o077 == 0
