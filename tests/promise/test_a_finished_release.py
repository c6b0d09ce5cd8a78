"""docs/commands/verify.md, "What is compared": `tclose verify` finds what was changed, as it is or
with its hash.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from people import list_again, tree
from promise_page import promises

Command = Callable[..., tuple[int, str, str]]
Verify = Callable[[], tuple[int, str]]
LOG = "public/release/_delta_log/00000000000000000000.json"


@pytest.fixture
def verify(output: Path, conf: Path, tclose: Command) -> Verify:
    """`verify()`: exit code and message of the command on the copy of the finished release."""

    def run() -> tuple[int, str]:
        code, _, err = tclose("verify", conf, "--set", f"output.path={output}")
        return code, err

    return run


def part(output: Path) -> Path:
    (file,) = (output / "public/release").glob("part-*.parquet")
    return file


def change_log(output: Path, change: Callable[[list[dict[str, Any]]], object]) -> None:
    lines = [json.loads(line) for line in (output / LOG).read_text().splitlines()]
    change(lines)
    (output / LOG).write_text("".join(json.dumps(line) + "\n" for line in lines))


def of(lines: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    found: dict[str, Any] = next(line[kind] for line in lines if kind in line)
    return found


def rewrite(
    output: Path,
    change: Callable[[pa.Table], pa.Table],
    options: Mapping[str, Any] | None = None,
    **metadata: str,
) -> None:
    """Writes the data file again, with its size in the log. options: of pyarrow's writer."""
    words = {
        f"org.apache.spark.{key}": text for key, text in {"version": "4.1.0", **metadata}.items()
    }
    table, how = (
        change(pq.read_table(part(output))),
        {"store_schema": False, "write_statistics": False},
    )
    with pq.ParquetWriter(part(output), table.schema, **{**how, **(options or {})}) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(words)
    change_log(output, lambda lines: of(lines, "add").update(size=part(output).stat().st_size))


@promises(
    "`tclose verify` judges a finished release again.",
    "A finished release is judged again by `tclose verify`.",
)
def test_tclose_verify_judges_a_finished_release_again(output: Path, verify: Verify) -> None:
    before = tree(output)
    code, said = verify()
    assert (code, "48 rows again: the finished release holds" in said) == (0, True)
    assert tree(output) == before
    rewrite(
        output,
        lambda table: table.slice(1),
    )  # which no longer is what was hashed, and says so in all lists
    list_again(output)
    code, said = verify()
    assert code == 1
    assert "the release that was read back differs from the release that was written" in said


READ_DIFFERENTLY: dict[str, Callable[[Path], object]] = {
    "a file that is not read": lambda output: change_log(
        output,
        lambda lines: lines.append(
            {"remove": {"path": part(output).name, "deletionTimestamp": 1, "dataChange": True}},
        ),
    ),
    "a file from outside": lambda output: [
        shutil.copy(part(output), output / "public/other.parquet"),
        change_log(output, lambda lines: of(lines, "add").update(path="../other.parquet")),
    ],
    "other rows": lambda output: rewrite(output, lambda table: table.slice(0, 40)),
    "names swapped": lambda output: change_log(
        output,
        lambda lines: of(lines, "metaData").update(
            schemaString=of(lines, "metaData")["schemaString"]
            .replace('"disease"', '"x"')
            .replace('"region"', '"disease"')
            .replace('"x"', '"region"'),
        ),
    ),
    "a table beside it": lambda output: shutil.copytree(
        output / "public/release",
        output / "public/release2",
    ),
}


@promises("It ends with exit code 1 and names the file if readers of the release would read")
@pytest.mark.parametrize("what", READ_DIFFERENTLY)
def test_it_ends_with_exit_code_1_and_names_the_file_if_readers_would_read_anything_else(
    output: Path,
    verify: Verify,
    what: str,
) -> None:
    before = tree(output)
    READ_DIFFERENTLY[what](output)
    after = tree(output)
    changed = [file for file in {*before, *after} if before.get(file) != after.get(file)]
    code, said = verify()
    assert code == 1
    assert any(str(output / file) in said for file in changed)


@promises("`internal/run.json` lists the SHA-256 of every public file")
def test_run_json_lists_the_sha_256_of_every_public_and_internal_file(finished: Path) -> None:
    listed = json.loads((finished / "internal/run.json").read_text())["stages"]["report"]["files"]
    for side in ("public", "internal"):
        found = {
            name: hashlib.sha256(content).hexdigest()
            for name, content in tree(finished / side).items()
        }
        found.pop("run.json", None)
        assert listed[side] == found
        assert len(found) > 3


@promises(
    "A file that was changed or removed is detected.",
    "So is a file that was added to `public/`",
)
def test_a_file_that_was_changed_added_or_removed_is_found(output: Path, verify: Verify) -> None:
    names = [file for file in tree(output) if file != "internal/run.json"]
    assert len(names) > 15
    for name in names:
        path, before = output / name, (output / name).read_bytes()
        for change, said in (
            (lambda path=path, before=before: path.write_bytes(before + b" "), "was changed"),
            (lambda path=path: path.unlink(), "is missing"),
        ):
            change()
            code, err = verify()
            assert (code, f"{path} {said}" in err) == (1, True), name
            path.write_bytes(before)
    for name in (
        "public/.a",
        "public/release/a.parquet",
        "public/release/_delta_log/a",
        "internal/classes/a",
    ):
        (output / name).write_text("person 1")
        code, err = verify()
        assert (code, f"{output / name} is no file of this release" in err) == (1, True), name
        (output / name).unlink()
    assert verify()[0] == 0


MORE_IN_THE_LOG: dict[str, Callable[[list[dict[str, Any]]], object]] = {
    "a commit's information": lambda lines: lines.append({"commitInfo": {"userName": "person 1"}}),
    "a description": lambda lines: of(lines, "metaData").update(description="person 1"),
    "statistics": lambda lines: of(lines, "add").update(stats='{"minValues":{"age":"20"}}'),
    "a part of a file": lambda lines: of(lines, "add").update(
        deletionVector={
            "storageType": "i",
            "pathOrInlineDv": "x" * 20,
            "sizeInBytes": 1,
            "cardinality": 40,
        },
    ),
}


@promises("The table's log holds one commit, which adds whole files and contains nothing else.")
def test_the_table_s_log_holds_one_commit_which_adds_whole_files_and_says_nothing_more(
    output: Path,
    verify: Verify,
) -> None:
    assert [path.name for path in (output / LOG).parent.iterdir()] == [Path(LOG).name]
    written = (output / LOG).read_text()
    lines = [json.loads(line) for line in written.splitlines()]
    assert sorted(kind for line in lines for kind in line) == ["add", "metaData", "protocol"]
    assert set(of(lines, "add")) == {
        "path",
        "partitionValues",
        "size",
        "modificationTime",
        "dataChange",
    }
    assert of(lines, "add")["size"] == part(output).stat().st_size
    for name, change in MORE_IN_THE_LOG.items():
        change_log(output, change)
        list_again(output)
        code, said = verify()
        assert (code, "is not as it was written" in said) == (1, True), name
        (output / LOG).write_text(written)


@promises("A later commit is reported, even a harmless one such as `OPTIMIZE`")
def test_a_later_commit_is_named_also_a_harmless_one(output: Path, verify: Verify) -> None:
    (output / LOG.replace("0.json", "1.json")).write_text(
        '{"commitInfo": {"operation": "OPTIMIZE"}}\n',
    )
    code, said = verify()
    assert code == 1
    assert "OPTIMIZE (commit 1)); it is no longer the verified release" in said


def with_another_author(output: Path) -> None:
    before = part(output).read_bytes()
    part(output).write_bytes(before.replace(b"parquet-cpp-arrow", b"person 1 has flu "))
    assert part(output).read_bytes() != before


MORE_IN_THE_FILE: dict[str, Callable[[Path], object]] = {
    "a column": lambda output: rewrite(
        output,
        lambda table: table.append_column(
            "person",
            pa.array([f"person {i}" for i in range(len(table))]),
        ),
    ),
    "a column less": lambda output: rewrite(output, lambda table: table.drop_columns(["region"])),
    "a key": lambda output: rewrite(output, lambda table: table, note="person 1 has flu"),
    "text where Spark's version stands": lambda output: rewrite(
        output,
        lambda table: table,
        version="person 1 has flu",
    ),
    "text where a time zone stands": lambda output: rewrite(
        output,
        lambda table: table,
        timeZone="person 1 has flu",
    ),
    "text where its writer stands": with_another_author,
    "statistics": lambda output: rewrite(output, lambda table: table, {"write_statistics": True}),
    "bounds of pages": lambda output: rewrite(
        output,
        lambda table: table,
        {"write_statistics": True, "write_page_index": True},
    ),
    "an order of rows": lambda output: rewrite(
        output,
        lambda table: table,
        {"sorting_columns": [pq.SortingColumn(0)]},
    ),
}


@promises(
    "Each Parquet file of the table, of its earlier versions and of an export has the released "
    "columns",
    "The footer has no statistics, page bounds, bloom filters, sorting columns or keys",
)
@pytest.mark.parametrize("what", [None, *MORE_IN_THE_FILE])
def test_each_parquet_file_has_the_released_columns_and_no_other_metadata(
    output: Path,
    certificate: dict[str, Any],
    verify: Verify,
    what: str | None,
) -> None:
    if what is None:
        file = pq.ParquetFile(part(output))
        assert file.schema_arrow.names == certificate["release"]["columns"]
        assert set(file.metadata.metadata) == {b"org.apache.spark.version"}
        assert re.fullmatch(r"parquet-cpp-arrow version [\d.]+", file.metadata.created_by)
        return
    MORE_IN_THE_FILE[what](output)
    list_again(output)
    code, said = verify()
    assert (code, part(output).name in said) == (1, True), said


@promises(
    "The certificate, the report, the codebook and the contract are computed again and compared.",
)
@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("certificate.json", r'"achieved_exact": "3/20"', '"achieved_exact": "1/20"'),
        ("certificate.json", r'"warnings": \[', '"warnings": ["harmless"'),
        ("report.html", r"\b48\b", "480"),
        ("report.html", "</h1>", ", and is harmless</h1>"),
        ("codebook.csv", "quasi-identifier", "insensitive attribute"),
        ("contract.yaml", "3/20", "1/20"),
    ],
)
def test_the_certificate_the_report_the_codebook_and_the_contract_are_computed_again_and_compared(
    output: Path,
    verify: Verify,
    name: str,
    old: str,
    new: str,
) -> None:
    path = output / "public" / name
    text, times = re.subn(old, new, path.read_text(), count=1)
    assert times == 1
    path.write_text(text)
    list_again(output)
    code, said = verify()
    assert (code, "does not describe the release beside it" in said) == (1, True)


@promises("Then they must be those of the rows; its bounds of pages are not compared.")
def test_statistics_of_an_older_spark_are_those_of_the_rows(output: Path, verify: Verify) -> None:
    rewrite(output, lambda table: table, {"write_statistics": True})
    file, rows = part(output), pq.read_table(part(output))
    author = pq.read_metadata(file).created_by.encode()
    file.write_bytes(
        file.read_bytes().replace(author, b"parquet-mr version 1.13.1".ljust(len(author), b"1")),
    )
    list_again(output)
    assert verify()[0] == 0
    most = max(rows["disease"].to_pylist()).encode()
    whole, footer = file.read_bytes(), 8 + pq.read_metadata(file).serialized_size
    file.write_bytes(whole[:-footer] + whole[-footer:].replace(most, b"a" * len(most)))
    list_again(output)
    code, said = verify()
    assert (code, "statistics of 'disease' that are not those of its rows" in said) == (1, True), (
        said
    )


@promises("A pipe, a socket or a device is reported without being opened.")
@pytest.mark.parametrize("name", ["more", "certificate.json"])
def test_a_pipe_is_reported_without_being_opened(output: Path, verify: Verify, name: str) -> None:
    (output / "public" / name).unlink(missing_ok=True)
    os.mkfifo(output / "public" / name)
    code, said = verify()
    assert (code, name in said) == (1, True), said


@promises("A release by another version of the package leads to exit code 1, unless you accept it")
def test_a_release_by_another_version_is_accepted_on_request(
    output: Path,
    conf: Path,
    tclose: Command,
) -> None:
    page = output / "public/certificate.json"
    page.write_text(page.read_text().replace('"version": "0.1.0"', '"version": "0.0.9"'))
    (output / "public/report.html").write_text("another page")
    list_again(output)
    command = ("verify", conf, "--finished", "--set", f"output.path={output}")
    code, _, said = tclose(*command)
    assert (code, "is of version 0.0.9" in said) == (1, True), said
    code, _, said = tclose(*command, "--other-version")
    assert code == 0, said


def change_state(*keys: str, value: Any = None) -> Callable[[Path], object]:
    """Removes a part of run.json, or has something else in its place."""

    def change(output: Path) -> None:
        path = output / "internal/run.json"
        state = json.loads(path.read_text())
        holder = state
        for key in keys[:-1]:
            holder = holder[key]
        del holder[keys[-1]]
        if value is not None:
            holder[keys[-1]] = value
        path.write_text(json.dumps(state))

    return change


UNREADABLE: dict[str, Callable[[Path], object]] = {
    "public/release": lambda output: part(output).write_bytes(part(output).read_bytes()[:-20]),
    LOG: lambda output: (output / LOG).write_text("garbage"),
    "public/certificate.json": lambda output: (output / "public/certificate.json").write_bytes(
        b"\xff",
    ),
    "certificate.json ": lambda output: (output / "public/certificate.json").write_text("[]"),
    "public/report.html": lambda output: (output / "public/report.html").write_bytes(b"\xff"),
    "internal/profile.json": lambda output: (output / "internal/profile.json").write_text("{"),
    "profile.json ": lambda output: (output / "internal/profile.json").write_text('{"rows": 48}'),
}
STATES: dict[str, Callable[[Path], object]] = {
    "cut short": lambda output: (output / "internal/run.json").write_text("{"),
    "no configuration": change_state("configuration"),
    "no input": change_state("stages", "profile"),
    "no hashes": change_state("stages", "anonymize", "written"),
    "another hash": change_state("stages", "anonymize", "written", "raw", value="zz"),
    "no warnings": change_state("stages", "verify", "minimality"),
    "no exports": change_state("stages", "report", "exports"),
    "no files": change_state("stages", "report", "files", value={}),
    "a list of files": change_state("stages", "report", "files", value=[]),
}


@promises("A file that cannot be read also leads to exit code 1.")
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_file_that_cannot_be_read_is_exit_code_1_too(
    output: Path,
    verify: Verify,
    name: str,
) -> None:
    UNREADABLE[name](output)
    code, said = verify()
    assert (code, name.strip().rpartition("/")[2] in said) == (1, True)
    list_again(output)  # as an adversary would, who can write there
    code, said = verify()
    assert code == 1, said


@pytest.mark.parametrize("name", STATES)
def test_a_run_json_that_cannot_be_read_is_exit_code_1_too(
    output: Path,
    verify: Verify,
    name: str,
) -> None:
    STATES[name](output)
    code, said = verify()
    assert (code, str(output / "internal/run.json") in said) == (1, True)


@promises(
    "The SHA-256 hashes detect accidents, and tampering by people who cannot write",
    "They are not a signature.",
    "An adversary who can rewrite `internal/run.json` can also replace",
)
def test_an_adversary_who_can_rewrite_run_json_can_replace_a_certificate_s_date(
    output: Path,
    verify: Verify,
) -> None:
    (issued,) = re.findall(r'"issued": "([^"]+)"', (output / "public/certificate.json").read_text())
    for path in (output / "public").glob("*.*"):
        text = path.read_text().replace(issued, "2020-01-01T00:00:00Z")
        path.write_text(re.sub(r"\d{4}-\d\d-\d\d, \d\d:\d\d UTC", "2020-01-01, 00:00 UTC", text))
    assert verify()[0] == 1
    list_again(output)
    assert verify()[0] == 0
