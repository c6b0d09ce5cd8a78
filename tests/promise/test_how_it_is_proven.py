"""docs/limits.md, "How a release is proven": each piece of evidence is broken in turn, and nothing
becomes public.
"""

from __future__ import annotations

import ast
import importlib
import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from people import PEOPLE, read
from promise_page import promises

from tclose_spark.checks import verifier
from tclose_spark.runfile.options import OPTIONS
from tclose_spark.stages import anonymize
from tclose_spark.stages.generalize import Generalizer
from tclose_spark.table.fingerprint import Fingerprint

ROOT = Path(__file__).resolve().parent.parent.parent
Command = Callable[..., tuple[int, str, str]]


def state_of(output: Path) -> dict[str, Any]:
    """What the run wrote down, staged or finished."""
    found: dict[str, Any] = json.loads(next(output.glob("internal/**/run.json")).read_text())
    return found


def hash_of(table: pd.DataFrame) -> str:
    return str(Fingerprint.of([pa.array(table[name].tolist(), pa.string()) for name in table]))


# --- while a release is written


@promises(
    "While a release is written, independent code checks each row's labels against its raw values.",
)
def test_while_a_release_is_written_each_row_s_labels_are_checked_against_its_raw_values(
    conf: Path,
    tmp_path: Path,
    tclose: Command,
    monkeypatch: pytest.MonkeyPatch,
    certificate: dict[str, Any],
) -> None:
    assert certificate["evidence"]["labels_checked"] == len(PEOPLE)
    honest = Generalizer.of

    @dataclass(frozen=True)
    class Liar:
        """Writes one label for every class. Workers get it whole, since it stands in no module."""

        def label(self, codes: Any, starts: Any) -> tuple[Any, list[str | None]]:
            return starts * 0, ["[20, 21]"]

    def lying(*given: Any) -> Generalizer:
        made = honest(*given)
        return replace(made, labellers=(Liar(), *made.labellers[1:]))

    monkeypatch.setattr(Generalizer, "of", lying)
    code, _, err = tclose("release", conf, "--set", f"output.path={tmp_path / 'out'}")
    assert code == 1, err
    assert "have a label that does not cover their value" in err
    assert not (tmp_path / "out/public").exists()


@promises("The raw rows and the published rows are each hashed as a multiset.")
def test_both_sides_are_hashed_as_multisets(finished: Path) -> None:
    stages, released = state_of(finished)["stages"], read(finished / "public/release")
    assert stages["profile"]["input"]["fingerprint"] == stages["anonymize"]["written"]["raw"]
    assert (
        stages["anonymize"]["written"]["published"]
        == hash_of(released)
        == hash_of(released.iloc[::-1])
    )
    linked = read(finished / "internal/linked")
    raw = [pa.array(linked[f"{name}_raw"]) for name in ("age", "city")]
    own = [pa.array(linked[name], pa.string()) for name in ("disease", "region")]
    assert str(Fingerprint.of([*raw, *own])) == stages["anonymize"]["written"]["raw"]


@promises("A row that is lost, doubled or altered changes a hash")
def test_a_row_that_is_lost_doubled_or_altered_changes_a_hash(finished: Path) -> None:
    released = read(finished / "public/release")
    altered, swapped = released.copy(), released.copy()
    altered.loc[0, "disease"] = "ulcer" if altered.loc[0, "disease"] != "ulcer" else "flu"
    other = next(i for i in released.index if set(released.loc[i]) != set(released.loc[0]))
    swapped.loc[0, "disease"], swapped.loc[other, "disease"] = "flu ", "flu"
    hashes = [
        hash_of(table)
        for table in (
            released,
            released.iloc[1:],
            pd.concat([released, released.iloc[:1]]),
            pd.concat([released.iloc[1:], released.iloc[-1:]]),
            altered,
            swapped,
        )
    ]
    assert len(set(hashes)) == len(hashes)


# --- the verifier


@pytest.fixture
def staged(reported: Path, tmp_path: Path) -> Path:
    """A release that is ready to be published."""
    return Path(shutil.copytree(reported, tmp_path / "staged"))


def change_state(output: Path, change: Callable[[dict[str, Any]], object]) -> None:
    path = output / "internal/staging/run.json"
    state = json.loads(path.read_text())
    change(state["stages"])
    path.write_text(json.dumps(state))


def change_rows(output: Path, change: Callable[[pd.DataFrame], pd.DataFrame], hashed: bool) -> None:
    """Writes other rows into the staged file; `hashed`: as if these had been written in the first
    place.
    """
    folder = output / "internal/staging/release"
    (part,) = folder.glob("part-*.parquet")
    old = pq.read_table(part)
    table = change(old.to_pandas())
    metadata = {"org.apache.spark.version": "4.1.0"}
    with pq.ParquetWriter(
        part,
        old.schema.remove_metadata(),
        store_schema=False,
        write_statistics=False,
    ) as writer:
        writer.write_table(
            pa.Table.from_pandas(table, old.schema.remove_metadata(), preserve_index=False),
        )
        writer.add_key_value_metadata(metadata)
    log = folder / "_delta_log/00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        if "add" in line:
            line["add"]["size"] = part.stat().st_size
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    if hashed:
        change_state(
            output,
            lambda stages: stages["anonymize"]["written"].update(published=hash_of(table)),
        )


def in_one_class(release: pd.DataFrame) -> pd.Series:
    return (release["age"] == release["age"][0]) & (release["city"] == release["city"][0])


def smaller(release: pd.DataFrame) -> pd.DataFrame:
    """One class has four rows, another has more."""
    first = np.flatnonzero(in_one_class(release))
    other = release.index[~in_one_class(release)][0]
    release.loc[first[4:], ["age", "city"]] = release.loc[other, ["age", "city"]].tolist()
    return release


def with_values(value: str) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """One class has few other values than this one, which is exchanged with those of the other
    classes.
    """

    def change(release: pd.DataFrame) -> pd.DataFrame:
        for i in np.flatnonzero(in_one_class(release) & (release["disease"] != value)):
            j = np.flatnonzero(~in_one_class(release) & (release["disease"] == value))[0]
            release.loc[j, "disease"], release.loc[i, "disease"] = release.loc[i, "disease"], value
        return release

    return change


BROKEN: dict[str, tuple[Callable[[Path], object], str]] = {
    "the raw side": (
        lambda output: change_state(
            output,
            lambda s: s["anonymize"]["written"].update(raw="30-0000000000000001"),
        ),
        "the rows whose labels were checked during the write are not the rows of the input",
    ),
    "the input": (
        lambda output: change_state(
            output,
            lambda s: s["profile"]["input"].update(fingerprint="30-0000000000000001"),
        ),
        "are not the rows of the input",
    ),
    "a row of the files": (
        lambda output: change_rows(
            output,
            lambda r: r.assign(region=r["region"].iloc[::-1].tolist()),
            hashed=False,
        ),
        "the release that was read back differs from the release that was written",
    ),
    "k": (
        lambda output: change_rows(output, smaller, hashed=True),
        r"smaller than k = 5; the smallest has 4",
    ),
    "t and l": (
        lambda output: change_rows(output, with_values("flu"), hashed=True),
        r"farther than t = 1/5(.|\n)*distinct l-diversity than 2; the worst has 1",
    ),
}


@promises(
    "The verifier then reads the written files.",
    "Independent code checks each row as it is written, and each class in the written files.",
    "The hash of the raw rows must be that of the input",
    "Every class must meet k, every t and every l.",
)
@pytest.mark.parametrize("what", BROKEN)
def test_the_verifier_reads_the_written_files_and_requires(
    staged: Path,
    conf: Path,
    tclose: Command,
    what: str,
) -> None:
    damage, message = BROKEN[what]
    damage(staged)
    code, _, err = tclose("verify", conf, "--set", f"output.path={staged}")
    assert code == 1
    assert pd.Series([err]).str.contains(message).all(), err
    for command in ("report", "publish"):
        assert tclose(command, conf, "--set", f"output.path={staged}")[0] in (1, 2)
    assert not (staged / "public").exists()


@promises("A Great Expectations suite over the class table must agree")
def test_a_great_expectations_suite_over_the_class_table_must_agree(
    finished: Path,
    staged: Path,
    conf: Path,
    tclose: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    results = json.loads((finished / "internal/validation/results.json").read_text())
    columns = {each["expectation_config"]["kwargs"].get("column") for each in results["results"]}
    assert results["success"]
    assert columns >= {"size", "emd_disease", "margin_disease", "distinct_disease"}
    honest = verifier.validate

    def disagreeing(*given: Any) -> Any:
        found = honest(*given)
        return SimpleNamespace(passed=False, failures=("one class",), files=found.files)

    monkeypatch.setattr(verifier, "validate", disagreeing)
    code, _, err = tclose("verify", conf, "--set", f"output.path={staged}")
    assert (code, "Great Expectations: one class" in err) == (1, True)
    assert (ROOT / "docs/reports.md").read_text().lower().count("great expectations")


@promises("If anything does not hold, the command publishes nothing.")
def test_if_anything_does_not_hold_the_command_ends_with_exit_code_1_and_publishes_nothing(
    conf: Path,
    tmp_path: Path,
    tclose: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    written = anonymize.write_tables

    def lossy(
        files: Any,
        schemas: Mapping[str, Any],
        folder: Any,
        trusts_text_writer: bool,
    ) -> None:
        written(files, schemas, folder, trusts_text_writer)
        change_rows(Path(folder.path()).parents[1], lambda release: release.iloc[1:], hashed=False)

    monkeypatch.setattr(anonymize, "write_tables", lossy)
    code, _, err = tclose("release", conf, "--set", f"output.path={tmp_path / 'out'}")
    assert code == 1, err
    assert "nothing is published" in err
    assert not (tmp_path / "out/public").exists()
    assert not list((tmp_path / "out").rglob("certificate.json"))


# --- what both share


def file_of(module: str) -> Path | None:
    path = ROOT / module.replace(".", "/")
    return next(
        (file for file in (path.with_suffix(".py"), path / "__init__.py") if file.exists()),
        None,
    )


@cache
def imported(module: str) -> frozenset[str]:
    """The modules of the package that a module imports."""
    names = set()
    for node in ast.walk(ast.parse(file_of(module).read_text())):  # type: ignore[union-attr]
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return frozenset(name for name in names if name.startswith("tclose_spark.") and file_of(name))


@cache
def reached(*modules: str) -> set[str]:
    """These modules and all that they import, and these import."""
    found, todo = set[str](), list(modules)
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo += imported(module)
    return {module.removeprefix("tclose_spark.") for module in found}


def parts_of_options(part: str) -> list[str]:
    """The modules that a run imports when it uses an option."""
    return [option.module(part) for option in OPTIONS if part in option.parts]


def judges() -> set[str]:
    own = ("checks.verifier", "checks.labels.coverage", "options.aggregates.check")
    return reached(*(f"tclose_spark.{name}" for name in own), *parts_of_options("judge"))


def makers() -> set[str]:
    paths = [
        path for path in (ROOT / "tclose_spark/methods").rglob("*.py") if path.name != "__init__.py"
    ]
    methods = [".".join(path.relative_to(ROOT).with_suffix("").parts) for path in paths]
    stages = ("tclose_spark.stages.anonymize", "tclose_spark.stages.profile")
    return reached(*stages, *parts_of_options("reader"), *parts_of_options("maker"), *methods)


@promises("The code that makes a release and the code that judges it share no line")
def test_makers_and_judges_share_no_line_that_assigns_rows_or_writes_labels() -> None:
    assigning = {
        module
        for module in makers()
        if module.startswith(("methods", "stages")) or module.endswith(".maker")
    }
    writing = {
        "table.labels",
        "table.rows",
        "stages.generalize",
        "table.hierarchies.released",
    }
    assert len(assigning) > 50
    assert writing <= makers()
    assert not (assigning | writing) & judges()


@promises(
    "They share definitions, such as",
    "The code that makes a release and the code that judges it share these definitions",
    "distances, l-diversity, beta-likeness, places of a `domain`, exact integers and histograms;",
    "how each requirement is measured;",
    "how labels are read, and how coarse each one is;",
    "hierarchies and domains;",
    "the hash of a row, and the text of a value;",
    "which row of a person comes first;",
    "which sensitive values of a person are the same as before;",
    "the names and patterns that identifiers have;",
    "how the input is read.",
)
def test_they_share_the_definitions() -> None:
    named = {
        "measures.distances.ground_distances",
        "measures.distances.features",
        "table.hierarchies.hierarchy",
        "table.domains",
        "table.fingerprint",
        "table.people",
        "table.atoms",
        "table.column_names.hints",
    }
    shared = {
        module
        for module in makers() & judges()
        if module.startswith(("measures.", "requirements.", "table."))
    }
    assert named <= shared
    assert shared - named == {
        "measures.distances.bins",  # and places of a `domain`
        "measures.distances.histograms",  # and numbers of tuples
        "measures.diversity",
        "measures.likeness",
        "measures.loss.information_loss",  # how labels are read; makers check theirs with it
        "requirements.closeness",
        "requirements.criterion",
        "requirements.diversity",
        "requirements.expectation",
        "requirements.figures",  # types of figures, which records and certificates have
        "requirements.judge",
        "requirements.likeness",
        "requirements.size",
        "requirements.wording",
        "requirements.words",
        "table.arrays",  # exact integers, and tuples of sensitive values
        "table.ranges",
        "table.column_names.names",  # what reads an input refuses names that are a record
        "table.columns.missing",  # codes of the input that are read as missing
        "table.columns.patterns",
        "table.columns.weights",  # how weights are read
        "table.dictionaries",
        "table.entities.finding",  # of the profile, which has notes on whom rows are about
        "table.entities.grouping",
        "table.entities.whole_values",
        "table.far_numbers",  # of the profile, whose loss is warned of
        "table.hierarchies",  # a package of the next two
        "table.hierarchies.builders",
        "table.hierarchies.building",  # the labels of a built hierarchy above a value
        "table.columns",  # a package of the next three
        "table.columns.parquet",  # the names of columns in which files travel
        "table.columns.preparing",  # the text of values
        "table.columns.spark_types",  # the names of types
        "table.writing",
    }


@promises("Tests compare these definitions with the papers' worked examples")
def test_tests_hold_these_to_worked_examples_brute_force_and_linear_programs() -> None:
    texts = {
        path: path.read_text()
        for path in (ROOT / "tests").rglob("test_*.py")
        if "promise" not in path.relative_to(ROOT).parts
    }

    def used_by(module: str, *words: str) -> list[str]:
        return [
            p.name
            for p, text in texts.items()
            if f"tclose_spark.{module} " in text and all(w in text for w in words)
        ]

    assert used_by("measures.distances.ground_distances", "linprog")
    (features,) = (text for path, text in texts.items() if path.name == "test_features.py")
    assert "linprog(" in features
    assert ".features" in features
    assert any(
        "papers" in path.parts and "measures.distances.ground_distances" in text
        for path, text in texts.items()
    )
    for module in (
        "measures.distances.ground_distances",
        "table.hierarchies.hierarchy",
        "table.domains",
        "table.fingerprint",
    ):
        assert used_by(module), module
    papers = "".join(text for path, text in texts.items() if "papers" in path.parts)
    assert "Hierarchy" in papers or "LI_FIGURE_1" in papers


@pytest.mark.parametrize("name", ["equal", "ordered", "hierarchical"])
def test_and_these_tests_fail_where_a_definition_is_wrong(
    name: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(ROOT / "tests/measures/distances")
    tests = importlib.import_module("test_distances")
    kind = getattr(tests, f"{name.title()}Distance")
    honest = kind.numerators
    monkeypatch.setattr(kind, "numerators", lambda distance, classes: honest(distance, classes) + 1)
    given = {"most": 6} if name == "hierarchical" else {"tables": tests.count_tables()}
    with pytest.raises(AssertionError):
        getattr(tests, f"test_{name}_distance_is_that_of_the_definition")(**given)
