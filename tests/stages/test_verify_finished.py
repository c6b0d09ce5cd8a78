"""`tclose verify` of a finished release: every damage is found, names its file, and ends with exit code 1.

Each damage is done twice: as it is, and by an adversary who also lists the files of the damaged release in run.json.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from people import PEOPLE, list_again, read, tree
from pyspark.sql import SparkSession

from tclose_spark import pipeline
from tclose_spark.engine.tables import of_arrow, write_delta
from tclose_spark.errors import ConfigurationError, GuaranteeError
from tclose_spark.io.input.arrow_frames import as_arrow, readable
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.run import Run
from tclose_spark.io.storage.folders import LocalFolder

OpenRun = Callable[..., Run]
Damage = Callable[[Path], object]

LOG = "public/release/_delta_log/00000000000000000000.json"


def the_part(output: Path) -> Path:
    (part,) = (output / "public/release").glob("part-*.parquet")
    return part


def actions(output: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (output / LOG).read_text().splitlines()]


def write_log(output: Path, lines: list[dict[str, Any]], commit: int = 0) -> None:
    path = output / LOG.replace("0.json", f"{commit}.json")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def in_log(kind: str, **fields: Any) -> Damage:
    """Changes fields of the actions of a kind."""

    def damage(output: Path) -> None:
        lines = actions(output)
        for line in lines:
            if kind in line:
                line[kind] |= fields
        write_log(output, lines)

    return damage


def more_log(*lines: dict[str, Any], commit: int = 0) -> Damage:
    """Adds actions to a commit; `PART` in them is the name of the data file."""

    def damage(output: Path) -> None:
        text = json.dumps(lines).replace("PART", the_part(output).name)
        write_log(output, [*(actions(output) if commit == 0 else []), *json.loads(text)], commit)

    return damage


def outside(output: Path) -> dict[str, Any]:
    """An `add` of a copy of the data file that lies beside the table."""
    copy = shutil.copy(the_part(output), output / "public/other.parquet")
    return {"size": Path(copy).stat().st_size, "partitionValues": {}, "modificationTime": 1, "dataChange": True}


def added_from_outside(path: Callable[[Path], str]) -> Damage:
    def damage(output: Path) -> None:
        write_log(output, [*actions(output), {"add": {"path": path(output), **outside(output)}}])

    return damage


def schema(change: Callable[[list[dict[str, Any]]], object]) -> Damage:
    """Changes the columns that the log says."""

    def damage(output: Path) -> None:
        lines = actions(output)
        for line in lines:
            if "metaData" in line:
                described = json.loads(line["metaData"]["schemaString"])
                change(described["fields"])
                line["metaData"]["schemaString"] = json.dumps(described)
        write_log(output, lines)

    return damage


def swap_disease_and_region(fields: list[dict[str, Any]]) -> None:
    names = {"disease": "region", "region": "disease"}
    for place, field in enumerate(fields, start=1):
        physical = names.get(field["name"], field["name"])
        field["metadata"] = {"delta.columnMapping.id": place, "delta.columnMapping.physicalName": physical}


def column_mapping(output: Path) -> None:
    schema(swap_disease_and_region)(output)
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    in_log("metaData", configuration=settings)(output)
    in_log("protocol", minReaderVersion=2, minWriterVersion=5)(output)


def parquet(change: Callable[[pa.Table], pa.Table]) -> Damage:
    """Rewrites the data file, with its size in the log."""

    def damage(output: Path) -> None:
        part = the_part(output)
        table = change(pq.read_table(part))
        with pq.ParquetWriter(part, table.schema, store_schema=False, write_statistics=False) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(table.schema.metadata or {})
        in_log("add", size=part.stat().st_size)(output)

    return damage


def content(name: str, change: Callable[[bytes], bytes]) -> Damage:
    """Changes the bytes of a file; `PART` is the data file."""

    def damage(output: Path) -> None:
        path = the_part(output) if name == "PART" else output / name
        path.write_bytes(change(path.read_bytes()))

    return damage


def flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda whole: whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


def new_file(name: str, text: str = "person 1,flu") -> Damage:
    def damage(output: Path) -> None:
        (output / name).parent.mkdir(exist_ok=True)
        (output / name).write_text(text)

    return damage


def gone(name: str) -> Damage:
    def damage(output: Path) -> None:
        path = the_part(output) if name == "PART" else output / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def raw_beside(name: str) -> Damage:
    def damage(output: Path) -> None:
        pq.write_table(PEOPLE, output / name)

    return damage


def certificate(*path: str, value: Any) -> Damage:
    """Changes one field of the certificate."""

    def damage(output: Path) -> None:
        file = output / "public/certificate.json"
        whole = json.loads(file.read_text())
        holder = whole
        for key in path[:-1]:
            holder = holder[key]
        assert holder[path[-1]] != value
        holder[path[-1]] = value
        file.write_text(json.dumps(whole, indent=2))

    return damage


def text_of(name: str, old: str, new: str) -> Damage:
    return content(name, lambda whole: re.sub(old.encode(), new.encode(), whole, count=1))


def rewritten(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Damage:
    """Writes other rows in place of the release, as a release is written."""

    def damage(output: Path) -> None:
        release = output / "public/release"
        changed = change(read(release))
        shutil.rmtree(release)
        write_delta(of_arrow(LocalSession(), readable(as_arrow(changed))[0]), str(release))

    return damage


def with_two_swapped(release: pd.DataFrame) -> pd.DataFrame:
    """The sensitive values of two rows of different classes, swapped."""
    diseases, keys = release["disease"].tolist(), list(zip(release["age"], release["city"], strict=True))
    other = next(i for i in range(len(keys)) if keys[i] != keys[0] and diseases[i] != diseases[0])
    diseases[0], diseases[other] = diseases[other], diseases[0]
    return release.assign(disease=diseases)


def checkpoint(output: Path) -> None:
    """A checkpoint of another table, which readers would take for this one's."""
    logs = output / "public/release/_delta_log"
    pq.write_table(pa.table({"add": [{"path": "other.parquet"}]}), logs / "00000000000000000000.checkpoint.parquet")
    (logs / "_last_checkpoint").write_text('{"version":0,"size":1}')


LIKE_THE_PART = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
OTHER_DATA: dict[str, Damage] = {
    "a remove in commit 0": more_log({"remove": {"path": "PART", "deletionTimestamp": 1, "dataChange": True}}),
    "a file outside by an absolute path": added_from_outside(lambda output: str(output / "public/other.parquet")),
    "a file outside by a URI": added_from_outside(lambda output: (output / "public/other.parquet").as_uri()),
    "a file outside by ..": added_from_outside(lambda output: "../other.parquet"),
    "a file outside by an escaped ..": added_from_outside(lambda output: "..%2Fother.parquet"),
    "a column mapping that swaps two columns": column_mapping,
    "a partition column": in_log("metaData", partitionColumns=["disease"]),
    "a partition column with a value": lambda output: [
        in_log("metaData", partitionColumns=["disease"])(output),
        in_log("add", partitionValues={"disease": "flu"})(output),
    ],
    "an inline deletion vector": in_log(
        "add", deletionVector={"storageType": "i", "pathOrInlineDv": "x" * 20, "sizeInBytes": 1, "cardinality": 40}
    ),
    "commit 1 that removes the file": more_log(
        {"remove": {"path": "PART", "deletionTimestamp": 1, "dataChange": True}}, commit=1
    ),
    "commit 1 that adds the file again": more_log({"add": {"path": "PART", **LIKE_THE_PART}}, commit=1),
    "commit 1 that changes columns": more_log({"metaData": {"id": "x"}}, commit=1),
    "a checkpoint of another table": checkpoint,
    "a second metaData": lambda output: write_log(
        output, [*actions(output), *[line for line in actions(output) if "metaData" in line]]
    ),
    "no metaData": lambda output: write_log(output, [line for line in actions(output) if "metaData" not in line]),
    "no protocol": lambda output: write_log(output, [line for line in actions(output) if "protocol" not in line]),
    "the file twice": lambda output: write_log(
        output, [*actions(output), *[line for line in actions(output) if "add" in line]]
    ),
    "no file": lambda output: write_log(output, [line for line in actions(output) if "add" not in line]),
    "another key twice": text_of(LOG, '"size":', '"size": 1, "size":'),
    "a transaction": more_log({"txn": {"appId": "x", "version": 1}}),
    "a domain": more_log({"domainMetadata": {"domain": "x", "configuration": "{}", "removed": False}}),
    "a change file": more_log({"cdc": {"path": "PART", "partitionValues": {}, "size": 1, "dataChange": False}}),
    "another schema: a column less": schema(lambda fields: fields.pop()),
    "another schema: a column more": schema(
        lambda fields: fields.append({"name": "person_id", "type": "string", "nullable": True, "metadata": {}})
    ),
    "another schema: a type": schema(lambda fields: fields[0].update(type="long")),
    "another schema: names swapped": schema(
        lambda fields: [fields[2].update(name="region"), fields[3].update(name="disease")]
    ),
}
FAILS_TO_READ: dict[str, Damage] = {
    "a wrong size in commit 0": in_log("add", size=17),
    "a last checkpoint that is garbage": new_file("public/release/_delta_log/_last_checkpoint", "{"),
    "the data file cut short": content("PART", lambda whole: whole[:-20]),
    "the data file with a byte less": content("PART", lambda whole: whole[:-1]),
    "the data file empty": content("PART", lambda whole: b""),
    "the data file with a byte flipped in its data": content("PART", flipped(60)),
    "the data file with a byte flipped in its footer": content("PART", lambda whole: flipped(len(whole) - 30)(whole)),
    "the data file with another magic number": content("PART", flipped(0)),
    "a renamed column": parquet(lambda table: table.rename_columns(["years", *table.column_names[1:]])),
    "a column of another type": parquet(
        lambda table: table.set_column(0, "age", pa.array(range(len(table)), pa.int64()))
    ),
    "a column less": parquet(lambda table: table.drop_columns(["region"])),
    "the log cut short": content(LOG, lambda whole: whole[:-40]),
    "the log empty": content(LOG, lambda whole: b""),
    "the log as garbage": content(LOG, lambda whole: b"\xff\xfe garbage"),
    "a log of no objects": content(LOG, lambda whole: b"[1]\n"),
    "protocol 99": in_log("protocol", minReaderVersion=99),
    "a writer's protocol 99": in_log("protocol", minWriterVersion=99),
    "a feature that nobody knows": in_log("protocol", minReaderVersion=3, readerFeatures=["magic"]),
    "a line that adds nothing": more_log({"add": None}),
    "a protocol that is a number": more_log({"protocol": 5}),
    "a path that is no text": in_log("add", path=5),
    "features that are no list": in_log("protocol", readerFeatures=None),
    "the log as a file": lambda output: [
        gone("public/release/_delta_log")(output),
        new_file("public/release/_delta_log")(output),
    ],
    "the data file gone": gone("PART"),
    "the log gone": gone("public/release/_delta_log"),
    "the table gone": gone("public/release"),
}
LEAKS: dict[str, Damage] = {
    "a column in the data file that the log does not name": parquet(
        lambda table: table.append_column("person_id", pa.array([f"person {i}" for i in range(len(table))]))
    ),
    "text in the metadata of the data file": parquet(
        lambda table: table.replace_schema_metadata({"note": "person 1 has flu"})
    ),
    "text in the columns of the data file": parquet(
        lambda table: table.replace_schema_metadata({"org.apache.spark.sql.parquet.row.metadata": '{"note": "flu"}'})
    ),
    "a description in the log": in_log("metaData", description="person 1 has flu"),
    "a name in the log": in_log("metaData", name="person 1 has flu"),
    "a setting in the log": in_log("metaData", configuration={"note": "person 1 has flu"}),
    "a comment of a column": schema(lambda fields: fields[0].update(metadata={"comment": "person 1 has flu"})),
    "a commit's information in the log": more_log({"commitInfo": {"userName": "person 1"}}),
    "a line of text in the log": content(LOG, lambda whole: whole + b'"person 1"\n'),
    "tags of the file": in_log("add", tags={"note": "person 1 has flu"}),
    "statistics in the log": in_log("add", stats='{"numRecords":48,"minValues":{"age":"20"}}'),
    "a false number of rows in the log": in_log("add", stats='{"numRecords":7}'),
    "raw input beside the release": raw_beside("public/people.parquet"),
    "raw input in the release": raw_beside("public/release/people.parquet"),
    "raw input in the log": raw_beside("public/release/_delta_log/people.parquet"),
    "a hidden file": new_file("public/.people.csv"),
    "a hidden file in the release": new_file("public/release/.people.csv"),
    "a checksum of no file": new_file("public/release/.people.crc"),
    "a hidden folder": new_file("public/.git/config"),
    "a folder in the release": new_file("public/release/disease=flu/part-0.parquet"),
    "a file as of an export": new_file("public/release_csv/part-0.csv"),
}
CERTIFICATE: dict[str, Damage] = {
    "verdict": certificate("verdict", value="holds well"),
    "name": certificate("release", "name", value="another"),
    "rows": certificate("release", "rows", value=49),
    "classes": certificate("release", "classes", value=1),
    "fingerprint": certificate("release", "fingerprint", value="30-0"),
    "columns": certificate("release", "columns", value=["age"]),
    "rows of the input": certificate("input", "rows", value=100),
    "version of the input": certificate("input", "version", value=3),
    "method": certificate("method", "name", value="t_mondrian"),
    "regions": certificate("regions", value="disjoint"),
    "k required": certificate("guarantees", "k", "required", value=50),
    "k achieved": certificate("guarantees", "k", "achieved", value=500),
    "t required": certificate("guarantees", "t", "disease", "required", value=0.01),
    "t required exactly": certificate("guarantees", "t", "disease", "required_exact", value="1/100"),
    "t achieved": certificate("guarantees", "t", "disease", "achieved", value=0.001),
    "t achieved exactly": certificate("guarantees", "t", "disease", "achieved_exact", value="1/1000"),
    "distance": certificate("guarantees", "t", "disease", "distance", value="ordered"),
    "l required": certificate("guarantees", "l", "disease", "distinct", "required", value=3),
    "l achieved": certificate("guarantees", "l", "disease", "distinct", "achieved", value=30),
    "domain": certificate("attributes", "sensitive", "disease", "domain", "values", value=["flu"]),
    "m": certificate("attributes", "sensitive", "disease", "m", value=2),
    "unused": certificate("attributes", "sensitive", "disease", "unused", "values", value=["person 1"]),
    "homogeneous": certificate("attributes", "sensitive", "disease", "homogeneous", value={"classes": 9, "rows": 9}),
    "type": certificate("attributes", "quasi_identifiers", "age", "type", value="categorical"),
    "span": certificate("attributes", "quasi_identifiers", "age", "span", value="1"),
    "hierarchy": certificate("attributes", "quasi_identifiers", "city", "hierarchy", "size", value=50),
    "ncp": certificate("utility", "ncp", value=0.0),
    "ncp of a column": certificate("utility", "ncp_by_quasi_identifier", "age", value=0.0),
    "average class size": certificate("utility", "average_class_size", value=5.0),
    "smallest class": certificate("utility", "smallest_class", value=50),
    "largest class": certificate("utility", "largest_class", value=50),
    "discernibility": certificate("utility", "discernibility", value=1),
    "expectations": certificate("evidence", "expectations_evaluated", value=1000),
    "labels checked": certificate("evidence", "labels_checked", value=1000),
    "allow_unique": certificate("allow_unique", value=["region"]),
    "warnings": certificate("warnings", value=["person 1 has flu"]),
    "unprotected": certificate("unprotected", value={"disease": {}}),
    "a key more": lambda output: text_of("public/certificate.json", r"\{", '{"note": "person 1 has flu",')(output),
    "a key twice": lambda output: text_of("public/certificate.json", r"\{", '{"verdict": "fails",')(output),
    "no JSON": content("public/certificate.json", lambda whole: whole[:-10]),
}
NOT_RECOMPUTED: dict[str, Damage] = {
    "when it was issued": certificate("issued", value="2020-01-01T00:00:00Z"),
    "the version that issued it": certificate("tool", "version", value="99"),
    "the tool that issued it": certificate("tool", "name", value="another"),
    "the certificate as other text": text_of("public/certificate.json", r"\{\n", "{"),
    "the class table gone": gone("internal/classes"),
    "a file of the class table gone": lambda output: next((output / "internal/classes").glob("part-*")).unlink(),
    "the class table with a byte flipped": lambda output: [
        path.write_bytes(flipped(60)(path.read_bytes())) for path in (output / "internal/classes").glob("part-*")
    ],
    "a file more in the class table": new_file("internal/classes/part-9.parquet"),
    "the verification edited": text_of("internal/verification.json", '"rows": 48', '"rows": 49'),
    "the verification gone": gone("internal/verification.json"),
    "the plan edited": text_of("internal/plan.json", r"\{", "{ "),
    "the plan gone": gone("internal/plan.json"),
    "the plan's report gone": gone("internal/plan_report.json"),
    "the suite edited": text_of("internal/validation/suite.json", r"\{", "{ "),
    "the results edited": text_of("internal/validation/results.json", '"success": true', '"success": false'),
    "the validation gone": gone("internal/validation"),
    "a page more in the validation": new_file("internal/validation/data_docs/more.html"),
    "the minimality edited": content("internal/minimality.json", lambda whole: b"{}"),
    "the internal report edited": text_of("internal/report.html", "Not for publication", "For publication"),
    "the internal report gone": gone("internal/report.html"),
    "the linked rows gone": gone("internal/linked"),
    "the profile edited": text_of("internal/profile.json", '"rows": 48', '"rows":  48'),
}
REWRITTEN: dict[str, Damage] = {
    "the report edited": text_of("public/report.html", "</h1>", ", and is harmless</h1>"),
    "the report's figure edited": text_of("public/report.html", r"\b48\b", "480"),
    "the codebook edited": text_of("public/codebook.csv", "quasi-identifier", "insensitive attribute"),
    "the contract edited": text_of("public/contract.yaml", "at least", "at most"),
    "the report emptied": content("public/report.html", lambda whole: b""),
    "a row less": rewritten(lambda release: release.iloc[1:]),
    "a row twice": rewritten(lambda release: pd.concat([release, release.iloc[:1]])),
    "no rows": rewritten(lambda release: release.iloc[:0]),
    "a label changed": rewritten(
        lambda release: release.assign(city=["*" if release["city"][0] != "*" else "Italy", *release["city"][1:]])
    ),
    "a label that is none": rewritten(lambda release: release.assign(city=["Europe", *release["city"][1:]])),
    "all labels wider": rewritten(lambda release: release.assign(city="*")),
    "a value changed": rewritten(
        lambda release: release.assign(
            disease=["gout" if release["disease"][0] == "flu" else "flu", *release["disease"][1:]]
        )
    ),
    "two values swapped": rewritten(with_two_swapped),
    "an insensitive value changed": rewritten(lambda release: release.assign(region="north")),
    "a column more": rewritten(lambda release: release.assign(name="person 1")),
    "a column less": rewritten(lambda release: release.drop(columns="region")),
}
GONE: dict[str, Damage] = {
    "the public folder": gone("public"),
    "the report, as a folder": lambda output: [
        gone("public/report.html")(output),
        new_file("public/report.html/1")(output),
    ],
    "the certificate": gone("public/certificate.json"),
    "the report": gone("public/report.html"),
    "the codebook": gone("public/codebook.csv"),
    "the contract": gone("public/contract.yaml"),
    "the state of the run": gone("internal/run.json"),
    "the state of the run, cut short": content("internal/run.json", lambda whole: whole[:-10]),
    "the state of the run, without what repeats": text_of("internal/run.json", '"repeated"', '"other"'),
    "the state of the run, as no object": content("internal/run.json", lambda whole: b"[]"),
}
DAMAGES = {
    f"{kind}: {name}": damage
    for kind, damages in {
        "other data": OTHER_DATA,
        "fails to read": FAILS_TO_READ,
        "leak": LEAKS,
        "certificate": CERTIFICATE,
        "not recomputed": NOT_RECOMPUTED,
        "rewritten": REWRITTEN,
        "gone": GONE,
    }.items()
    for name, damage in damages.items()
}
HARMLESS = "fails to read: the data file with a byte flipped in its footer"  # where no reader looks
RECOMPUTED = {
    name: damage
    for name, damage in DAMAGES.items()
    if not name.startswith(("not recomputed", "gone: the state")) and name != HARMLESS
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_release_does_not_hold(output: Path, conf: Path, open_run: OpenRun, name: str) -> None:
    before = tree(output)
    DAMAGES[name](output)
    changed = [file for file in {*before, *tree(output)} if before.get(file) != tree(output).get(file)]
    assert changed
    with pytest.raises(GuaranteeError) as found:
        pipeline.verify(open_run(conf, f"output.path={output}"))
    assert any(file.split("/", 1)[1] in str(found.value) for file in changed)


@pytest.mark.parametrize("name", RECOMPUTED)
def test_nor_does_one_whose_files_were_listed_again(output: Path, conf: Path, open_run: OpenRun, name: str) -> None:
    RECOMPUTED[name](output)
    list_again(output)
    with pytest.raises(GuaranteeError):
        pipeline.verify(open_run(conf, f"output.path={output}"))


@pytest.mark.parametrize("listed", [False, True])
@pytest.mark.parametrize("name", ["public/release/raw", "public/raw", "public/release/_delta_log/raw"])
@pytest.mark.parametrize("kind", ["a link to a folder", "a link to a file", "a broken link", "an empty folder"])
def test_links_and_empty_folders_are_no_part_of_a_release(
    output: Path, conf: Path, open_run: OpenRun, kind: str, name: str, listed: bool
) -> None:
    if kind == "an empty folder":
        (output / name).mkdir()
    else:
        to = {"a link to a folder": conf.parent, "a link to a file": conf, "a broken link": output / "nothing"}[kind]
        (output / name).symlink_to(to)
    if listed:
        list_again(output)
    with pytest.raises(GuaranteeError, match=r"public.*\braw/? is no file of|not list .*raw"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


@pytest.mark.parametrize("name", ["public/report.html", "internal/plan.json"])
def test_a_file_that_cannot_be_read_is_named(
    output: Path, conf: Path, open_run: OpenRun, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = LocalFolder.sha256

    def refuse(self: LocalFolder, file: str) -> str:
        if self.path(file) == str(output / name):
            raise PermissionError(13, "Permission denied", self.path(file))
        return read(self, file)

    monkeypatch.setattr(LocalFolder, "sha256", refuse)
    with pytest.raises(GuaranteeError, match=f"{name} cannot be read"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_of_a_damaged_file_it_is_not_said_that_nothing_is_published(
    output: Path, conf: Path, open_run: OpenRun
) -> None:
    FAILS_TO_READ["a column less"](output)
    list_again(output)
    with pytest.raises(GuaranteeError, match=r"the release is damaged: part-\S+ cannot be read$"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_what_is_not_damaged_holds_when_it_is_listed_again(output: Path, conf: Path, open_run: OpenRun) -> None:
    list_again(output)
    assert pipeline.verify(open_run(conf, f"output.path={output}")).holds


def test_what_an_owner_did_to_the_table_is_named(
    output: Path, conf: Path, open_run: OpenRun, spark: SparkSession
) -> None:
    spark.sql(f"ALTER TABLE delta.`{output / 'public/release'}` SET TBLPROPERTIES ('comment' = 'ours')")
    more_log({"commitInfo": {"operation": "OPTIMIZE"}}, commit=2)(output)
    with pytest.raises(
        GuaranteeError, match=r"later commits: SET TBLPROPERTIES \(commit 1\), OPTIMIZE \(commit 2\)\); it is no longer"
    ):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_a_release_by_a_version_that_listed_no_files_is_not_judged(output: Path, conf: Path, open_run: OpenRun) -> None:
    path = output / "internal/run.json"
    state = json.loads(path.read_text())
    del state["stages"]["report"]["files"]
    path.write_text(json.dumps(state))
    with pytest.raises(ConfigurationError, match="older version of tclose_spark"):
        pipeline.verify(open_run(conf, f"output.path={output}"))


def test_a_certificate_by_another_version_of_the_package_is_one(output: Path, conf: Path, open_run: OpenRun) -> None:
    path = output / "public/certificate.json"
    whole = json.loads(path.read_text())
    whole["tool"]["version"], whole["issued"] = "0.0.1", "2020-01-01T00:00:00Z"
    path.write_text(json.dumps(whole))
    list_again(output)
    assert pipeline.verify(open_run(conf, f"output.path={output}")).holds


def test_there_are_as_many_damages_as_the_docs_say() -> None:
    assert len(DAMAGES) >= 128
