"""The command: what bad input gets (exit code, a message that names it, nothing published), and
what good input shows.
"""

from __future__ import annotations

import json
import shutil
import signal
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tclose_spark import __version__, cli
from tclose_spark.cli import commands
from tclose_spark.io.interrupts import SIGNALS
from tclose_spark.io.local_session import LocalSession

ROOT = Path(__file__).resolve().parents[2]
RAW = "Zebulon"  # a value that only a person's row holds

PEOPLE: dict[str, list[Any]] = {
    "age": [20 + i % 9 for i in range(24)],
    "sex": ["f", "m"] * 12,
    "disease": ["flu", "gout", "ulcer"] * 8,
}
ROLES: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}, "sex": {}},
    "sensitive": {"disease": {"t": "0.5"}},
}
CSV = "age,sex,disease\n" + "".join(
    f"{age},{sex},{disease}\n" for age, sex, disease in zip(*PEOPLE.values(), strict=True)
)


Command = Callable[..., tuple[int, str, str]]
RunFile = Callable[..., Path]


def with_column(**columns: Sequence[Any]) -> dict[str, Any]:
    return {**PEOPLE, **columns}


def some(value: Any, rest: Sequence[Any], many: int = 1) -> list[Any]:
    """The values, the first ones replaced."""
    return [value] * many + list(rest[many:])


def roles(**changed: Any) -> dict[str, Any]:
    return {**ROLES, **changed}


ORDERED = {"disease": {"distance": "ordered", "order": ["flu", "gout", "ulcer"]}}
NUMBERS = [1.0, 2.0, 10.0] * 8

# what is wrong: (table, roles, exit code, what the message says)
BAD_TABLES: dict[str, tuple[Mapping[str, Sequence[Any]], dict[str, Any], int, list[str]]] = {
    "an empty table": (
        {name: column[:0] for name, column in PEOPLE.items()},
        ROLES,
        2,
        ["people.parquet", "no rows"],
    ),
    "a quasi-identifier that is not there": (
        PEOPLE,
        roles(quasi={"zip": {}}, drop_others=True),
        2,
        ["attributes.quasi_identifiers", "'zip' is not in the input"],
    ),
    "a direct identifier that is not there": (
        PEOPLE,
        roles(direct_identifiers=["name"]),
        2,
        ["attributes.direct_identifiers", "'name'"],
    ),
    "a column in no list": (
        with_column(name=[RAW] * 24),
        ROLES,
        2,
        ["'name'", "in no list", "drop_others"],
    ),
    "text in a number": (
        with_column(age=some(RAW, list(map(str, PEOPLE["age"])), 2)),
        ROLES,
        2,
        ["'age'", "2 of 24 rows", "categorical"],
    ),
    "an infinite number": (
        with_column(age=some(float("inf"), NUMBERS)),
        ROLES,
        2,
        ["'age'", "1 of 24 rows hold no finite number"],
    ),
    "a text beyond all numbers": (
        with_column(age=some("1e999", list(map(str, PEOPLE["age"])))),
        ROLES,
        2,
        ["'age'", "1 of 24 rows"],
    ),
    "a decimal beyond all doubles' digits": (
        with_column(age=pa.array([10**38 - 1 - i for i in range(24)], pa.decimal128(38, 0))),
        ROLES,
        2,
        ["'age'", "24 of 24 rows"],
    ),
    "no number at all": (
        with_column(age=pa.array([None] * 24, pa.int64())),
        ROLES,
        2,
        ["'age' is missing in all 24 rows"],
    ),
    "NULL in an ordered attribute": (
        with_column(disease=some(None, PEOPLE["disease"], 3)),
        roles(sensitive=ORDERED),
        2,
        ["'disease' is missing in 3 rows", "missing: lowest or highest"],
    ),
    "NULL in a hierarchical attribute": (
        with_column(disease=some(None, ["Pisa"] * 24, 3)),
        roles(sensitive={"disease": {"distance": "hierarchical", "hierarchy": "cities.csv"}}),
        2,
        ["'disease' is missing in 3 rows"],
    ),
    "text that has no order": (
        PEOPLE,
        roles(sensitive={"disease": {"distance": "ordered"}}),
        2,
        ["'disease' is text", "order: frequency or a list"],
    ),
    "a number that has no place in an order": (
        with_column(disease=some(float("inf"), NUMBERS)),
        roles(sensitive={"disease": {"distance": "ordered", "t": "0.5"}}),
        2,
        ["'disease' has infinite numbers"],
    ),
    "a value that the order lacks": (
        with_column(disease=some("mumps", PEOPLE["disease"])),
        roles(sensitive=ORDERED),
        2,
        ["disease.order lacks 1 values", "problems.json"],
    ),
    "a value that its hierarchy lacks": (
        with_column(sex=some("Oslo", ["Pisa", "Lyon"] * 12, 3)),
        roles(quasi={"age": {"type": "numeric"}, "sex": {"hierarchy": "cities.csv"}}),
        2,
        ["'sex'", "its hierarchy lacks 1 value in 3 rows", "problems.json"],
    ),
    "a value that means everything": (
        with_column(sex=some("*", PEOPLE["sex"])),
        ROLES,
        2,
        ["'sex'", "stands for the whole domain"],
    ),
    "an insensitive column that is nearly unique": (
        with_column(name=[f"{RAW} {i}" for i in range(24)]),
        roles(insensitive_attributes=["name"]),
        2,
        ["'name' is nearly unique", "allow_unique"],
    ),
    "a hierarchy that is not there": (
        PEOPLE,
        roles(quasi={"sex": {"hierarchy": "none.csv"}}, drop_others=True),
        2,
        ["attributes.quasi_identifiers.sex.hierarchy", "none.csv cannot be read"],
    ),
    "a hierarchy behind a URI that is not there": (
        PEOPLE,
        roles(quasi={"sex": {"hierarchy": "file:///nowhere/none.csv"}}, drop_others=True),
        2,
        ["attributes.quasi_identifiers.sex.hierarchy", "none.csv cannot be read"],
    ),
    "a column with the name of a bound": (
        with_column(age_min=["a", "b"] * 12),
        roles(
            quasi={"age": {"type": "numeric", "numeric_output": "bounds"}},
            insensitive_attributes=["age_min"],
            drop_others=True,
        ),
        2,
        ["'age_min'"],
    ),
    "a column with the name of a linked one": (
        with_column(age_raw=["a", "b"] * 12),
        roles(insensitive_attributes=["age_raw"], output={"keep_linked": True}),
        2,
        ["'age_raw'"],
    ),
    "a column of a type that cannot be released": (
        with_column(tags=pa.array([[[("a", 1)]]] * 24, pa.list_(pa.map_(pa.string(), pa.int64())))),
        roles(insensitive_attributes=["tags"]),
        2,
        ["'tags'"],
    ),
}


def check_refused(done: tuple[int, str, str], code: int, says: Sequence[str], folder: Path) -> None:
    found, out, err = done
    assert found == code, err
    assert err.startswith("error: ")
    assert "unexpected" not in err
    assert all(part in err for part in says), err
    assert RAW not in out + err
    assert not (folder / "out" / "public").exists()


@pytest.mark.parametrize("name", BAD_TABLES)
def test_a_bad_table_is_refused(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
    name: str,
) -> None:
    table, settings, code, says = BAD_TABLES[name]
    done = tclose("profile", run_file(table, **settings))
    if (
        name.startswith("a column with the name") and done[0] == 0
    ):  # found at a later stage, if not at once
        done = tclose("release", tmp_path / "run.yaml")
    check_refused(done, code, says, tmp_path)


# the text of people.csv: what the message says
BAD_CSV: dict[str, tuple[str, list[str]]] = {
    "a row with a field too few": (f"{CSV}{RAW},f\n", ["input.path: 1 of 25 rows are malformed"]),
    "a row with a field too many": (
        f"{CSV}31,f,flu,{RAW}\n",
        ["input.path: 1 of 25 rows are malformed"],
    ),
    "text in a number": (f"{CSV}{RAW},f,flu\n", ["'age'", "1 of 25 rows"]),
    "a header and no rows": ("age,sex,disease\n", ["people.csv", "no rows"]),
    "nothing": ("", ["input"]),
}


@pytest.mark.parametrize("infer", ["false", "true"])
@pytest.mark.parametrize("name", BAD_CSV)
def test_a_bad_csv_file_is_refused(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
    name: str,
    infer: str,
) -> None:
    text, says = BAD_CSV[name]
    (tmp_path / "people.csv").write_text(text)
    source = {
        "path": "people.csv",
        "format": "csv",
        "options": {"header": True, "inferSchema": infer},
    }
    check_refused(tclose("profile", run_file(None, source=source, **ROLES)), 2, says, tmp_path)


def test_csv_files_with_different_headers_are_refused(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
) -> None:
    (tmp_path / "people.csv").mkdir()
    (tmp_path / "people.csv/1.csv").write_text(CSV)
    (tmp_path / "people.csv/2.csv").write_text("sex,age,disease\nf,31,flu\n")
    path = run_file(
        None,
        source={"path": "people.csv", "format": "csv", "options": {"header": True}},
        **ROLES,
    )
    check_refused(tclose("profile", path), 2, ["people.csv"], tmp_path)


@pytest.mark.parametrize("kind", ["csv", "parquet", "delta", "table"])
def test_a_missing_input_is_named(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
    kind: str,
) -> None:
    done = tclose("profile", run_file(None, source={"path": "nobody", "format": kind}, **ROLES))
    check_refused(done, 2, ["input.path: ", "nobody does not exist"], tmp_path)


def test_a_file_that_is_no_parquet_is_named(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
) -> None:
    (tmp_path / "people.parquet").write_text(CSV)
    check_refused(
        tclose("profile", run_file(None, source={"path": "people.parquet"}, **ROLES)),
        2,
        ["people.parquet cannot be read"],
        tmp_path,
    )


def test_an_input_that_fails_shows_no_values(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
    spark: SparkSession,
) -> None:
    """A view may raise errors of its own, with the value in their text; Spark's and its Python
    logger are silent.
    """
    path = run_file(
        with_column(sex=some(RAW, PEOPLE["sex"])),
        source={"path": "people_view", "format": "table"},
        **ROLES,
    )
    spark.conf.set("spark.sql.ansi.enabled", "true")  # a view keeps the setting
    spark.read.parquet(str(tmp_path / "people.parquet")).createOrReplaceTempView("people_raw")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW people_view AS SELECT age, CAST(sex AS INT) AS sex, disease "
        "FROM people_raw",
    )
    code, out, err = tclose("profile", path)
    assert code != 0
    assert RAW not in out + err


@pytest.mark.parametrize("scheme", ["", "file://"])
def test_an_output_that_cannot_be_written_is_named(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
    scheme: str,
) -> None:
    (tmp_path / "file").write_text("")
    done = tclose(
        "profile",
        run_file(PEOPLE, **ROLES),
        "--set",
        f"output.path={scheme}{tmp_path}/file/out",
    )
    check_refused(done, 2, ["output: ", "file/out/internal cannot be written"], tmp_path)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ("privacy.kk=5", ["privacy.kk: unknown key"]),
        ("privacy.k=1", ["privacy.k: found 1", "expected 2 or more"]),
        (
            "attributes.sensitive_attributes.disease.t=1.5",
            ["attributes.sensitive_attributes.disease.t", "from 0 to 1"],
        ),
        ("input.format=xlsx", ["input.format: found 'xlsx'"]),
        ("privacy", ["--set privacy: expected key.path=value"]),
    ],
)
def test_a_bad_key_is_named(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
    change: str,
    says: list[str],
) -> None:
    check_refused(tclose("release", run_file(PEOPLE, **ROLES), "--set", change), 2, says, tmp_path)


def test_a_run_file_that_cannot_be_read_is_named(tclose: Command, tmp_path: Path) -> None:
    check_refused(
        tclose("release", tmp_path / "none.yaml"),
        2,
        ["none.yaml cannot be read"],
        tmp_path,
    )
    (tmp_path / "run.yaml").write_bytes(b"name: \xff\n")
    check_refused(tclose("release", tmp_path / "run.yaml"), 2, ["run.yaml"], tmp_path)


def test_an_unknown_option_or_command_is_named(tclose: Command, tmp_path: Path) -> None:
    check_refused(tclose("release", "run.yaml", "--forse"), 2, ["--forse"], tmp_path)
    check_refused(tclose("relaese", "run.yaml"), 2, ["relaese"], tmp_path)


# --- what cannot be reached, and what the plan shows


def test_a_t_that_classes_of_k_do_not_reach(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
) -> None:
    path = run_file(
        PEOPLE,
        k=4,
        quasi=ROLES["quasi"],
        sensitive={"disease": {"t": "0.1"}},
        method={"class_size": "k"},
    )
    assert tclose("profile", path)[0] == 0
    # 4 of three values: one of them twice, so 1/2 instead of 1/3; 6 rows hold each value twice
    says = [
        "classes of size 4 reach t = 0.1667 for disease (required: 0.1)",
        "begin with 6",
        "class_size: auto",
    ]
    check_refused(tclose("plan", path), 3, says, tmp_path)


@pytest.mark.parametrize(
    "method",
    ["closeness_tree", "stack_and_deal", "fragmentation", "microaggregation", "sabre"],
)
def test_a_k_above_the_table(
    tclose: Command,
    run_file: RunFile,
    tmp_path: Path,
    method: str,
) -> None:
    path = run_file(PEOPLE, k=25, method={"name": method})
    assert tclose("profile", path)[0] == 0
    check_refused(tclose("plan", path), 3, ["privacy.k is 25, but the table has 24 rows"], tmp_path)


def test_an_l_that_no_class_reaches(tclose: Command, run_file: RunFile, tmp_path: Path) -> None:
    path = run_file(PEOPLE, quasi=ROLES["quasi"], sensitive={"disease": {"l": {"distinct": 4}}})
    assert tclose("profile", path)[0] == 0
    check_refused(
        tclose("plan", path),
        3,
        ["no class size from 3 to the whole table meets the requirements"],
        tmp_path,
    )


def test_plan_shows_what_each_class_size_reaches(tclose: Command, run_file: RunFile) -> None:
    path = run_file(PEOPLE, k=4, quasi=ROLES["quasi"], sensitive={"disease": {"t": "0.1"}})
    tclose("profile", path)
    code, out, err = tclose("plan", path)
    assert code == 0, err
    lines = [
        [cell.strip() for cell in line.strip("│┃").replace("┃", "│").split("│")]
        for line in out.splitlines()
    ]
    assert all(
        heading in out
        for heading in ("class size", "classes", "disease", "bound", "holds", "stack")
    )
    assert ["4", "6", "0.166667", "0.166667", "no", "frequency"] in lines
    assert ["6", "4", "0.000000", "0.000000"] in [line[:4] for line in lines]
    assert "chosen" in out
    assert [line.split()[0] for line in err.splitlines()] == ["engine", "plan"]
    assert "planned the classes, in 1 task" in err


# --- a release


@pytest.fixture(scope="module")
def finished(
    spark: SparkSession,
    write_run: Callable[..., Path],
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """A finished run whose insensitive column is unique, as `allow_unique` lets it be."""
    folder = tmp_path_factory.mktemp("finished")
    table = with_column(name=[f"{RAW} {i}" for i in range(24)])
    path = write_run(folder, table, insensitive_attributes=["name"], allow_unique=["name"], **ROLES)
    assert spark
    assert cli.main(["release", str(path)]) == 0
    return folder


def certificate_of(finished: Path) -> dict[str, Any]:
    made: dict[str, Any] = json.loads((finished / "out/public/certificate.json").read_text())
    return made


def test_allow_unique_is_in_the_certificate(finished: Path) -> None:
    certificate = certificate_of(finished)
    assert certificate["allow_unique"] == ["name"]
    assert pq.read_table(finished / "out/public/release").num_rows == 24


def test_a_finished_output_is_refused(tclose: Command, finished: Path) -> None:
    before = (finished / "out/public/certificate.json").read_text()
    code, _, err = tclose("release", finished / "run.yaml")
    assert code == 2
    assert (
        f"run.yaml, line 4: output: {finished}/out/public holds a finished release; give "
        "--overwrite" in err
    )
    assert (finished / "out/public/certificate.json").read_text() == before


def test_a_release_that_does_not_hold_ends_with_1(
    tclose: Command,
    finished: Path,
    tmp_path: Path,
) -> None:
    copy = shutil.copytree(finished / "out", tmp_path / "copy")
    assert tclose("verify", finished / "run.yaml", "--set", f"output.path={copy}")[0] == 0
    for file in (copy / "public/release").glob("*.parquet"):
        pq.write_table(pq.read_table(file).slice(1), file, store_schema=False)
    code, _, err = tclose("verify", finished / "run.yaml", "--set", f"output.path={copy}")
    assert code == 1, err
    assert "it is no longer the verified release" in err
    assert "was changed" in err


def test_release_shows_a_summary_and_a_line_a_stage(tclose: Command, finished: Path) -> None:
    code, out, err = tclose("release", finished / "run.yaml", "--overwrite")
    assert code == 0, err
    engine, *stages = (line.split() for line in err.splitlines())
    assert engine[0] == "engine"
    assert [" ".join(words[:-2]) for words in stages] == [
        "profile read 24 rows",
        "plan planned the classes, in 1 task",
        "anonymize generalized 24 rows",
        f"verify judged {certificate_of(finished)['release']['classes']} classes",
        "report wrote certificate and reports",
        "publish moved the release to its public place",
    ]
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert "small: the release holds" in lines
    assert "rows 24" in lines
    assert "k requested 3, achieved 3" in lines
    assert any(line.startswith("t of disease (equal) requested 0.5, achieved 0.") for line in lines)
    assert any(line.startswith("information loss (NCP) 0.") for line in lines)
    assert f"certificate {finished}/out/public/certificate.json" in lines
    assert "precision of" not in out


def test_details_show_the_plan_the_precision_and_the_counts(
    tclose: Command,
    finished: Path,
    tmp_path: Path,
) -> None:
    planned, counts = (
        "plan       blocks: 1 of up to 24 rows",
        "half of random counts from the release are within ",
    )
    options = (
        "--overwrite",
        "--set",
        "method.name=closeness_tree",
        "--set",
        f"output.path={tmp_path / 'out'}",
    )
    code, out, err = tclose("release", finished / "run.yaml", *options)
    assert code == 0, err
    assert planned not in err
    assert counts not in err
    code, out, err = tclose("release", finished / "run.yaml", *options, "--details")
    assert code == 0, err
    assert planned in err
    assert counts in err
    lines = [" ".join(line.split()) for line in out.splitlines()]
    codebook = (tmp_path / "out/public/codebook.csv").read_text()
    (precision,) = (
        line.removeprefix("precision of age ")
        for line in lines
        if line.startswith("precision of age ")
    )
    assert precision.replace(";", " of rows;") + " of rows" in codebook


def test_a_warning_is_printed_once_whether_or_not_the_run_has_given_it(
    tclose: Command,
    write_run: RunFile,
    tmp_path: Path,
) -> None:
    table = pa.table(with_column(patient_id=[f"P{max(i, 1):03}" for i in range(24)]))
    conf = write_run(tmp_path, table, **roles(direct_identifiers=["patient_id"]))
    code, _, err = tclose("release", conf)
    assert (code, err.count("'patient_id' looks like an identifier of a person and repeats")) == (
        0,
        1,
    ), err
    assert err.count("looks like an identifier of a person") == 1, err
    code, _, err = tclose("release", conf, "--if-changed")
    told = "a column that is not published looks like an identifier of a person and repeats"
    assert (code, err.count(told)) == (0, 1), err


def test_an_unchanged_input_is_not_released_again_and_one_line_says_what_stands(
    tclose: Command,
    finished: Path,
    session: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCLOSE_LOG_FORMAT", "json")
    engine_here = "local" if isinstance(session, LocalSession) else "spark"
    certificate = json.loads((finished / "out/public/certificate.json").read_text())
    code, out, err = tclose("release", finished / "run.yaml", "--if-changed", "--json")
    assert code == 0, err
    engine, said, told = (json.loads(text) for text in (*err.splitlines(), out))
    assert engine["message"].startswith(f"engine     {engine_here}: ")
    assert (said["level"], said["message"].partition(":")[0]) == ("info", "nothing to do")
    assert said["time"].endswith("+00:00")
    assert (told["verdict"], told["rows"], told["public"]) == (
        "holds",
        24,
        f"{finished}/out/public",
    )
    assert told["guarantees"] == certificate["guarantees"]
    assert told["fingerprint"] == certificate["release"]["fingerprint"]


def test_errors_are_lines_of_json_where_that_is_asked(
    tclose: Command,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCLOSE_LOG_FORMAT", "json")
    code, _, err = tclose("release", "/nowhere/run.yaml")
    said = json.loads(err)
    assert (code, said["level"]) == (2, "error")
    assert said["message"].startswith("the run file /nowhere/run.yaml cannot be read")
    monkeypatch.setenv("TCLOSE_LOG_FORMAT", "xml")
    code, _, err = tclose("version")
    assert (code, err) == (2, "error: TCLOSE_LOG_FORMAT is xml; expected text or json\n")


@pytest.mark.parametrize("given", ["s3://bucket/run.yaml", "file:///tmp/run.yaml"])
def test_a_run_file_behind_a_uri_is_refused_as_such(tclose: Command, given: str) -> None:
    code, _, error = tclose("profile", given)
    assert (code, "is a URI; expected a path" in " ".join(error.split())) == (2, True)


def test_a_generated_census_is_released_by_its_run_file(
    tclose: Command,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    code, out, err = tclose("generate", "--rows", 1000, "--output", tmp_path)
    assert code == 0, err
    assert "1,000 people in" in out
    assert pq.read_table(tmp_path / "people.parquet").num_rows == 1000
    monkeypatch.setenv("TCLOSE_DEMO", str(tmp_path))
    code, out, err = tclose(
        "release",
        ROOT / "conf/demo.yaml",
        "--set",
        f"output.path={tmp_path}/out",
    )
    assert code == 0, err
    assert "demo: the release holds" in out
    columns = pq.read_table(tmp_path / "out/public/release").column_names
    assert "disease" in columns
    assert not {"person_id", "income"} & set(columns)


def test_generate_needs_rows_and_a_folder(tclose: Command, tmp_path: Path) -> None:
    check_refused(tclose("generate", "--rows", 0, "--output", tmp_path), 2, ["--rows"], tmp_path)
    (tmp_path / "file").write_text("")
    check_refused(
        tclose("generate", "--rows", 10, "--output", tmp_path / "file" / "x"),
        2,
        ["--output", "cannot be written"],
        tmp_path,
    )


def test_jobs_take_the_run_file_either_way(
    spark: SparkSession,
    run_file: RunFile,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path, before = (
        run_file(PEOPLE, **ROLES),
        {number: signal.getsignal(number) for number in SIGNALS},
    )
    assert spark
    for arguments in (["--config", str(path)], [f"--config={path}"]):
        monkeypatch.setattr("sys.argv", ["jobs/profile.py", *arguments])
        cli.run_job("profile")
        assert (path.parent / "out/internal/staging/profile.json").exists()
        after = [signal.signal(number, handler) for number, handler in before.items()]
        assert after == [signal.SIG_IGN, signal.SIG_IGN]  # nothing follows in a job but Spark's end


def test_the_version_is_reported(tclose: Command) -> None:
    assert tclose("--version") == (0, f"tclose {__version__}\n", "")


def test_help_groups_the_commands_by_what_a_user_wants() -> None:
    groups: dict[str, set[str]] = {}
    for one in commands.app.registered_commands:
        groups.setdefault(one.rich_help_panel, set()).add(one.name or one.callback.__name__)
    assert groups == {
        "Make a release": {"suggest", "compare", "release", "history"},
        "Judge a table": {"audit", "explain", "verify", "fingerprint"},
        "The stages of a release, one at a time": {
            "profile",
            "plan",
            "anonymize",
            "report",
            "publish",
        },
        "Helpers": {"hierarchy", "generate", "compile", "schema", "version"},
    }


def test_a_message_prints_names_as_they_are(tclose: Command, tmp_path: Path) -> None:
    assert f"{tmp_path}/nope:x:.yaml" in tclose("release", tmp_path / "nope:x:.yaml")[2]
