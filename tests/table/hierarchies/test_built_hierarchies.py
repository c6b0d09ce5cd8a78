"""Hierarchies that the run file describes, from the input to the finished release, and `tclose
hierarchy`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tclose_spark import pipeline
from tclose_spark.auditing.audit import audit_table
from tclose_spark.auditing.question import question_from_columns
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.comparing.trial import draw_rows
from tclose_spark.engine.tables import collect, read_delta
from tclose_spark.errors import ConfigurationError, GuaranteeError, InputError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

N = 240
PEOPLE = pa.table(
    {
        "age": pa.array([None if i % 60 == 0 else 20 + i * 7 % 50 for i in range(N)], pa.int16()),
        "size": [150.0 + i * 3 % 40 + (0.5 if i % 9 == 0 else 0) for i in range(N)],
        "zip": [f"8{i * 13 % 40:03d}{i % 7}" for i in range(N)],
        "born": [date(1990, 1, 1) + timedelta(days=i * 37 % 2000) for i in range(N)],
        "city": [["Pisa", "Siena", "Lyon", "Oslo"][i * 5 % 4] for i in range(N)],
        "ward": [f"w{i * 11 % 13:02d}" for i in range(N)],
        "disease": [["flu", "gout", "ulcer", "cold", None][i % 5] for i in range(N)],
        "grade": [1 + i * 3 % 5 for i in range(N)],
    },
)
QUASI: dict[str, Any] = {
    "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10, 20]}},
    "size": {"type": "numeric", "hierarchy": {"intervals": ["2.5", 10]}},
    "zip": {"hierarchy": {"prefix": 1}},
    "born": {"hierarchy": {"dates": ["month", "year"]}},
    "city": {
        "hierarchy": {
            "groups": {"Italy": ["Pisa", "Siena", "Bari"], "France": ["Lyon"]},
            "other": "elsewhere",
        },
    },
    "ward": {"hierarchy": {"order": 4}},
}
SENSITIVE: dict[str, Any] = {
    "disease": {
        "distance": "hierarchical",
        "hierarchy": {"levels": [{"lung": ["flu", "cold"], "rest": ["gout", "ulcer"]}]},
        "missing": "leaf",
        "t": "0.4",
    },
    "grade": {"distance": "ordered", "t": "0.4"},
}
FILES = {
    "age": ("20;[20, 24];[20, 29];[20, 39];*", 50),
    "size": ("150.5;[150, 152.5);[150, 160);*", None),
    "zip": ("80000;8000*;800**;80***;8****;*", None),
    "born": ("1990-01-01;1990-01;1990;*", None),
    "city": ("Bari;Italy;*", 5),
    "ward": ("w12;w12;*", 13),
    "disease": ("cold;lung;*", 4),
}


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose hierarchies are all built."""
    return write_run(
        tmp_path_factory.mktemp("built"),
        PEOPLE,
        quasi=QUASI,
        sensitive=SENSITIVE,
        method={"name": "t_mondrian"},
    )


@pytest.fixture(scope="module")
def finished(conf: Path, open_run: Callable[..., Run]) -> Run:
    """Its finished release, each stage by a run of its own, as processes of their own would."""
    for stage in ("profile", "plan", "anonymize", "verify", "report", "publish"):
        getattr(pipeline, stage)(open_run(conf))
    return open_run(conf)


def test_what_is_built_stays_inside_as_csv(finished: Run) -> None:
    folder = Path(finished.internal.path("hierarchies"))
    assert sorted(file.stem for file in folder.iterdir()) == sorted(FILES)
    for name, (row, leaves) in FILES.items():
        lines = (folder / f"{name}.csv").read_text().splitlines()
        assert row in [line.replace('"', "") for line in lines]
        assert leaves is None or len(lines) == leaves
    assert all((folder / f"{name}.csv").stat().st_mode & 0o077 == 0 for name in FILES)


def published(run: Run, *columns: str) -> list[tuple[Any, ...]]:
    table = collect(read_delta(run.session, run.public.path("release")))
    return [tuple(row.values()) for row in table.select(list(columns)).to_pylist()]


def test_labels_are_values_and_nodes(finished: Run) -> None:
    rows = published(finished, *QUASI)
    assert len(rows) == N
    inner = 0
    for place, name in enumerate(QUASI):
        tree = Hierarchy.parse(
            (Path(finished.internal.path("hierarchies")) / f"{name}.csv").read_text(),
            name,
        )
        labels = {row[place] for row in rows} - {None}
        assert labels <= tree.leaf_set | set(tree.leaves_under)
        inner += len(labels - tree.leaf_set - {"*"})
    assert inner > 3


def test_the_certificate_counts_leaves_and_names_none(finished: Run) -> None:
    certificate = json.loads(finished.public.read("certificate.json"))
    quasi = certificate["attributes"]["quasi_identifiers"]
    labels = [label for (label,) in published(finished, "city")]
    inner = {"Italy": 3, "France": 1, "elsewhere": 1}
    told = {"*": 1.0, **{node: leaves / 5 for node, leaves in inner.items()}}
    below = [[node, inner[node]] for node in sorted(set(labels) & inner.keys())]
    assert quasi["city"]["hierarchy"] == {"size": 5}
    assert quasi["city"]["leaves"] == {"size": len(below), "below": below}
    assert certificate["utility"]["ncp_by_quasi_identifier"]["city"] == pytest.approx(
        sum(told.get(label, 0.0) for label in labels) / N,
    )
    disease = certificate["attributes"]["sensitive"]["disease"]
    assert (disease["missing"], ["flu", "lung", "*"] in disease["hierarchy"]["paths"]) == (
        "leaf",
        True,
    )


def test_nothing_public_tells_a_value_that_no_label_does(finished: Run) -> None:
    rows = (
        collect(read_delta(finished.session, finished.public.path("release")))
        .select(["zip", "born", "ward"])
        .to_pylist()
    )
    released = {label for row in rows for label in row}
    hidden = {
        str(value) for name in ("zip", "born") for value in PEOPLE[name].to_pylist()
    } - released
    assert len(hidden) > 100
    public = [finished.public.read(name) for name in ("certificate.json", "report.html")]
    assert [value for value in hidden if any(value in text for text in public)] == []


def test_a_finished_release_is_judged_by_the_files_that_were_built(
    conf: Path,
    finished: Run,
    open_run: Callable[..., Run],
) -> None:
    assert pipeline.verify(open_run(conf), finished=True).holds
    file = Path(finished.internal.path("hierarchies/city.csv"))
    text = file.read_text()
    try:
        file.write_text(text.replace("elsewhere", "abroad"))
        with pytest.raises(GuaranteeError, match=r"city\.csv was changed"):
            pipeline.verify(open_run(conf), finished=True)
        file.unlink()
        with pytest.raises(GuaranteeError, match=r"city\.csv is missing"):
            pipeline.verify(open_run(conf), finished=True)
    finally:
        file.write_text(text)


def test_every_value_has_one_label_where_levels_are_recoded(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    chosen = {name: QUASI[name] for name in ("age", "city")}
    run = open_run(
        conf,
        f"output={json.dumps({'path': str(tmp_path), 'keep_linked': True})}",
        "method={name: t_incognito}",
        f"attributes.quasi_identifiers={json.dumps(chosen)}",
        "attributes.drop_others=true",
        "attributes.sensitive_attributes.disease.t=0.8",
        "attributes.sensitive_attributes.grade.t=0.8",
    )
    pipeline.release(run)
    labels: dict[tuple[str, Any], set[Any]] = {}
    for row in collect(read_delta(run.session, run.internal.path("linked"))).to_pylist():
        for name in chosen:
            labels.setdefault((name, row[f"{name}_raw"]), set()).add(row[name])
    assert {len(of) for of in labels.values()} == {1}
    ages = {
        label
        for (name, raw), of in labels.items()
        if name == "age" and raw is not None
        for label in of
    }
    assert ages <= {
        f"[{low}, {low + width - 1}]" for width in (5, 10, 20) for low in range(0, 80, width)
    } | {"*"}
    assert "*" not in ages


def test_one_that_is_built_no_longer_goes(
    conf: Path,
    finished: Run,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    shutil.copytree(Path(finished.public.path()).parent, tmp_path / "out")
    run = open_run(
        conf,
        f"output.path={tmp_path / 'out'}",
        "attributes.quasi_identifiers={city: {}}",
        "attributes.sensitive_attributes={grade: {distance: ordered, t: 0.4}}",
        "attributes.drop_others=true",
        overwrite=True,
    )
    pipeline.release(run)
    assert not Path(run.internal.path("hierarchies")).exists()
    assert pipeline.verify(run, finished=True).holds


REFUSED = {
    "no group": (
        "city={hierarchy: {groups: {Italy: [Pisa, Siena]}}}",
        r"city\.hierarchy\.groups: 2 values in 120 rows are in no group",
    ),
    "no date": (
        "zip={hierarchy: {dates: [year]}}",
        r"zip\.hierarchy\.dates: \d+ values in 240 rows are neither",
    ),
}


@pytest.mark.parametrize(("quasi", "message"), REFUSED.values(), ids=REFUSED)
def test_values_without_a_place_end_the_profile(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    quasi: str,
    message: str,
) -> None:
    run = open_run(conf, f"output.path={tmp_path}", f"attributes.quasi_identifiers.{quasi}")
    with pytest.raises(InputError, match=message):
        pipeline.release(run)
    assert run.internal.exists("problems.json")


def test_texts_that_are_no_numbers_are_counted(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = {"size": ["7", "7.0", "ten", None] * 3, "disease": ["flu", "gout"] * 6}
    quasi = {"size": {"type": "numeric", "hierarchy": {"intervals": [5]}}}
    with pytest.raises(
        InputError,
        match="'size' is type: numeric, but 3 of 12 rows hold no finite number",
    ):
        pipeline.profile(open_run(write_run(tmp_path, table, quasi=quasi)))


def test_equal_numbers_are_one_leaf(
    write_run: Callable[..., Path],
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    table = {"size": ["7", "7.0", "07", "1e1"] * 3, "disease": ["flu", "gout"] * 6}
    quasi = {"size": {"type": "numeric", "hierarchy": {"intervals": [5]}}}
    run = open_run(write_run(tmp_path, table, quasi=quasi))
    pipeline.profile(run)
    assert run.staging.read("hierarchies/size.csv") == "7;[5, 9];*\n10;[10, 14];*\n"


@pytest.fixture(scope="module")
def people(conf: Path) -> Iterator[str]:
    """The table of the run, as it is typed."""
    return str(conf.parent / "people.parquet")


Command = Callable[..., tuple[int, str, str]]


def test_the_command_shows_writes_and_checks(tclose: Command, people: str, tmp_path: Path) -> None:
    code, shown, _ = tclose(
        "hierarchy",
        people,
        "city",
        "--build",
        "groups: {Italy: [Pisa, Siena]}\nother: rest",
        "--output",
        tmp_path / "c.csv",
    )
    assert code == 0
    assert "Italy  120 rows, 2 values" in shown
    assert "Oslo  60 rows" in shown
    assert "internal" in shown
    assert (
        tmp_path / "c.csv"
    ).read_text() == "Pisa;Italy;*\nSiena;Italy;*\nLyon;rest;*\nOslo;rest;*\n"
    assert (tmp_path / "c.csv").stat().st_mode & 0o077 == 0
    assert tclose("hierarchy", people, "city", "--check", tmp_path / "c.csv")[0] == 0
    code, _, error = tclose(
        "hierarchy",
        people,
        "city",
        "--build",
        "prefix: 1",
        "--output",
        tmp_path / "c.csv",
    )
    assert (code, "exists already" in error) == (2, True)


def test_a_check_counts_what_has_no_leaf(tclose: Command, people: str, tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("Pisa;Italy;*\nSiena;Italy;*\nBari;Italy;*\n")
    code, shown, error = tclose("hierarchy", people, "city", "--check", tmp_path / "c.csv")
    assert code == 2
    assert "no leaf for 2 values in 120 rows" in error
    assert "leaves that no row has: 1" in shown
    assert not any("Oslo" in text for text in (shown, error))
    code, shown, _ = tclose("hierarchy", people, "city", "--check", tmp_path / "c.csv", "--values")
    assert (code, "no leaf: 'Oslo', 60 rows" in shown) == (2, True)


def test_the_command_reads_run_files(tclose: Command, conf: Path) -> None:
    code, shown, _ = tclose("hierarchy", conf, "age", "--depth", 1, "--most", 1)
    assert code == 0
    assert "age: 50 values in 236 rows, missing in 4" in shown
    assert ".. 2 more" in shown
    assert "[20, 29]" not in shown
    assert "lung" in tclose("hierarchy", conf, "disease")[1]
    assert (
        "8****"
        in tclose(
            "hierarchy",
            conf,
            "zip",
            "--set",
            "attributes.quasi_identifiers.zip.hierarchy={prefix: 4}",
        )[1]
    )


WRONG = [
    (["zip"], "which hierarchy"),
    (["zap", "--build", "prefix: 1"], "column 'zap' is not in the table"),
    (["zip", "--build", "prefx: 1"], "did you mean 'prefix'"),
    (["zip", "--build", "prefix"], "expected a form"),
    (["zip", "--build", "prefix: 1", "--check", "a.csv"], "give one of them"),
    (["zip", "--build", "intervals: [5]"], "expected type: numeric"),
    (["city", "--build", "intervals: [5]", "--type", "numeric"], "240 rows hold no finite number"),
    (["zip", "--check", "no.csv"], "cannot be read"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_the_command_says_what_is_wrong(
    tclose: Command,
    people: str,
    arguments: list[str],
    message: str,
) -> None:
    code, _, error = tclose("hierarchy", people, *arguments)
    assert (code, message in error) == (2, True), error


def test_an_audit_takes_those_of_the_finished_release(
    tclose: Command,
    conf: Path,
    finished: Run,
) -> None:
    code, shown, error = tclose(
        "audit",
        finished.public.path("release"),
        "--config",
        conf,
        "--json",
        "--no-attacks",
    )
    assert code == 0, error
    certificate = json.loads(finished.public.read("certificate.json"))
    assert json.loads(shown)["utility"]["ncp"] == pytest.approx(
        certificate["utility"]["ncp"],
        rel=0.2,
    )
    release = read_delta(finished.session, finished.public.path("release"))
    question = question_from_columns({"zip": {"hierarchy": {"prefix": 1}}})
    with pytest.raises(ConfigurationError, match="an audit builds no hierarchy; expected a CSV"):
        audit_table(AuditTables(table=release), question)


def test_a_comparison_keeps_what_was_built(
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
) -> None:
    run = open_run(conf, f"output.path={tmp_path}")
    run.internal.create(private=True)
    table = draw_rows(run, LocalFolder(str(tmp_path)), 100)
    again = ComparedTable.from_json(table.to_json())
    assert set(again.built) == set(FILES)
    assert again.built == table.built
    assert again.built["city"].height == 2
