"""docs/people.md: pseudonyms. The settings, files and refusals:
tests/releases/test_pseudonyms.py.
"""

from __future__ import annotations

import hmac
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from oracle.third_party import certificate_of
from people import PEOPLE, ROLES, read
from promise_page import promises

from tclose_spark import pipeline
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.runfile.columns import Pseudonym
from tclose_spark.runfile.loading import load_spec
from tclose_spark.table.columns.pseudonyms import PseudonymKeys

OWN, NAMED = "the own secret of a run", "a secret of several tables"
NAMES = [None, None, *(f"person {i // 2}" for i in range(2, len(PEOPLE)))]
TABLE = PEOPLE.set_column(0, "name", pa.array(NAMES)).append_column("guardian", pa.array(NAMES))
RUN: dict[str, Any] = {**ROLES, "direct_identifiers": [], "drop_others": True}
Released = Callable[..., tuple[pd.DataFrame, dict[str, Any]]]


def hashed(name: str | None, secret: str, begin: str = "") -> str | None:
    if name is None:
        return None
    return hmac.new(secret.encode(), (begin + name).encode(), sha256).digest()[:16].hex()


@pytest.fixture
def released(
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Released:
    """`released(pseudonyms)`: the release of people with two rows each, and its certificate."""
    monkeypatch.setenv("TCLOSE_SECRET", OWN)
    monkeypatch.setenv("SHARED", NAMED)

    def made(pseudonyms: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
        path = write_run(tmp_path_factory.mktemp("pseudonyms"), TABLE, **RUN, pseudonyms=pseudonyms)
        pipeline.release(open_run(path))
        return read(path.parent / "out/public/release"), certificate_of(path.parent / "out")

    return made


@promises(
    "With `attributes.pseudonyms`, a direct identifier is published as a pseudonym",
    "A missing value stays missing.",
    "An adversary with the secret can compute everyone's pseudonym",
    "A pseudonym in `attributes.pseudonyms` is the exception.",
)
def test_a_pseudonym_is_the_hmac_of_the_value(released: Released) -> None:
    table, _ = released({"name": {"secret": "SHARED"}})
    values = table["name"].astype(object).where(table["name"].notna(), None)
    assert Counter(values) == Counter(hashed(name, NAMED) for name in NAMES)
    assert values.isna().sum() == 2


@promises("Values cannot be guessed back without the secret.")
def test_guesses_cannot_be_tested_without_the_secret(released: Released) -> None:
    table, _ = released(["name"])
    published = {*table["name"].dropna()}
    known = [name for name in NAMES if name is not None]
    assert published == {hashed(name, OWN, "name\0") for name in known}
    for guess in (NAMED, OWN[:-1], "", "name"):
        assert not published & {
            hashed(name, guess, begin) for name in known for begin in ("", "name\0")
        }
    assert not published & {
        sha256((b + name).encode()).hexdigest()[:32] for name in known for b in ("", "name\0")
    }


@promises("A secret of fewer than 16 characters is rejected")
@pytest.mark.parametrize("variable", ["TCLOSE_SECRET", "SHARED"])
def test_short_secrets_are_rejected(
    released: Released,
    variable: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = ["name"] if variable == "TCLOSE_SECRET" else {"name": {"secret": variable}}
    monkeypatch.setenv(variable, "x" * 15)
    with pytest.raises(ConfigurationError, match="fewer than 16 characters"):
        released(settings)
    monkeypatch.setenv(variable, "x" * 16)
    released(settings)


@promises(
    "The rows of a person are linkable.",
    "An adversary who finds one row of a person finds all of them.",
    "Every class of a release with pseudonyms meets k, every t and every l.",
    "A pseudonym replaces a direct identifier, and links the rows of a person",
    "The combination of a person's classes is not examined",
)
def test_the_rows_of_a_person_are_linkable_and_their_classes_single_people_out(
    released: Released,
) -> None:
    table, certificate = released(["name"])
    rows = {
        hashed(name, OWN, "name\0"): n for name, n in Counter(NAMES).items() if name is not None
    }
    assert table["name"].value_counts().to_dict() == rows
    assert table.groupby(["age", "city"]).size().min() >= 5
    assert certificate["guarantees"]["k"]["achieved"] >= 5
    assert certificate["guarantees"]["t"]["disease"]["achieved"] <= 0.2
    both = table.groupby("name")[["age", "city"]].apply(
        lambda rows: tuple(sorted(map(tuple, rows.to_numpy()))),
    )
    assert min(Counter(both).values()) == 1


@promises(
    "Releases are linkable.",
    "With a named secret, equal values have equal pseudonyms",
    "Values are equal if their texts are",
    "With the run's own secret, a pseudonym depends on the name of its column",
    "Later releases with the same secret still link.",
)
def test_which_releases_link(released: Released, monkeypatch: pytest.MonkeyPatch) -> None:
    def pseudonyms(settings: Any, column: str = "name") -> set[str]:
        return {*released(settings)[0][column].dropna()}

    named, own = pseudonyms({"name": {"secret": "SHARED"}}), pseudonyms(["name"])
    assert own == pseudonyms(["name"])
    assert not own & pseudonyms(["guardian"], "guardian")
    monkeypatch.setenv("TCLOSE_SECRET", "the own secret of another run")
    assert named == pseudonyms({"guardian": {"secret": "SHARED"}}, "guardian")
    assert not own & pseudonyms(["name"])
    keys = PseudonymKeys.of({"name": Pseudonym(secret="SHARED")}, OWN)
    whole, text, double = (
        keys.of_values("name", pa.array([value])).to_pylist() for value in (5, "5", 5.0)
    )
    assert whole == text != double


@promises("A pseudonym is exempt from the checks of insensitive columns")
def test_pseudonyms_may_be_unique(
    released: Released,
    write_run: Callable[..., Path],
    open_run: Callable[..., Any],
    tmp_path: Path,
) -> None:
    table = PEOPLE.set_column(0, "key", pa.array([f"key {i}" for i in range(len(PEOPLE))]))
    for folder, roles in (
        ("insensitive", {"insensitive_attributes": ["key"]}),
        ("pseudonym", {"pseudonyms": ["key"]}),
    ):
        run = open_run(
            write_run(
                tmp_path / folder,
                table,
                **{**RUN, "insensitive_attributes": ["region"], **roles},
            ),
        )
        if folder == "insensitive":
            with pytest.raises(Exception, match="nearly unique"):
                pipeline.release(run)
        else:
            pipeline.release(run)
            assert read(tmp_path / folder / "out/public/release")["key"].nunique() == len(PEOPLE)


@promises("The verifier rejects a value that is no pseudonym")
def test_a_raw_value_in_place_of_a_pseudonym_is_rejected(
    write_run: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """On the local engine, because the patch does not reach workers of Spark."""
    monkeypatch.setenv("TCLOSE_SECRET", OWN)
    monkeypatch.setattr(PseudonymKeys, "of_values", lambda self, column, values: values)
    path = write_run(tmp_path, TABLE, **RUN, pseudonyms=["name"])
    run = Run(load_spec(path), LocalSession(), lambda line: None)
    with pytest.raises(GuaranteeError, match="46 rows hold no pseudonym"):
        pipeline.release(run)


@promises("The certificate names each pseudonym and the kind of its secret, and warns.")
def test_the_certificate_names_pseudonyms_and_warns(released: Released) -> None:
    _, certificate = released({"name": {}, "guardian": {"secret": "SHARED", "as": "who"}})
    assert certificate["pseudonyms"] == {"name": "own secret", "who": "named secret"}
    for column in ("name", "who"):
        begin = (
            f"{column!r} is a pseudonym ({certificate['pseudonyms'][column]}): the rows of a "
            "person are linkable"
        )
        assert [warning for warning in certificate["warnings"] if warning.startswith(begin)]
    assert "SHARED" not in str(certificate)
