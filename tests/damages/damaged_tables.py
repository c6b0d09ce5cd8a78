"""Damages of the table `release`, staged or public, by the check that is meant for them (see
checks.py).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from acts import (
    LOG,
    Damage,
    actions,
    added_from_outside,
    before_the_footer,
    column_mapping,
    content,
    flipped,
    gone,
    in_footer,
    in_log,
    more_log,
    new_file,
    parquet,
    raw_beside,
    resized,
    rewritten,
    schema,
    text_of,
    the_part,
    write_log,
)

LIKE_THE_PART = {"partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}
REMOVE = {"path": "PART", "deletionTimestamp": 1, "dataChange": True}
LOGS = "release/_delta_log"


def checkpoint(area: Path) -> None:
    """A checkpoint of another table, which readers would take for this one's."""
    logs = area / LOGS
    pq.write_table(
        pa.table({"add": [{"path": "other.parquet"}]}),
        logs / "00000000000000000000.checkpoint.parquet",
    )
    (logs / "_last_checkpoint").write_text('{"version":0,"size":1}')


def without(kind: str) -> Damage:
    """The log without the actions of a kind."""
    return lambda area: write_log(area, [line for line in actions(area) if kind not in line])


def twice(kind: str) -> Damage:
    """The log with the actions of a kind twice."""
    return lambda area: write_log(
        area,
        [*actions(area), *[line for line in actions(area) if kind in line]],
    )


def classes_of(release: pd.DataFrame) -> list[tuple[str, str]]:
    return list(zip(release["age"], release["city"], strict=True))


def another_class(release: pd.DataFrame) -> int:
    """The first row of another class than the first row, with another disease."""
    keys, diseases = classes_of(release), release["disease"].tolist()
    return next(i for i in range(len(keys)) if keys[i] != keys[0] and diseases[i] != diseases[0])


def with_two_swapped(release: pd.DataFrame) -> pd.DataFrame:
    """The sensitive values of two rows of different classes, swapped."""
    diseases, other = release["disease"].tolist(), another_class(release)
    diseases[0], diseases[other] = diseases[other], diseases[0]
    return release.assign(disease=diseases)


def with_labels_swapped(release: pd.DataFrame) -> pd.DataFrame:
    """The labels of two rows of different classes, swapped."""
    changed, other = release.copy(), another_class(release)
    for name in ("age", "city"):
        changed.loc[[0, other], name] = release[name][[other, 0]].tolist()
    return changed


def in_first_row(name: str, value: str | None) -> Damage:
    """Another value in the first row."""
    return rewritten(lambda release: release.assign(**{name: [value, *release[name][1:]]}))


def of_one_class(column: str, label: Callable[[str], str | None]) -> Damage:
    """Another label in all rows of the first row's class."""

    def change(release: pd.DataFrame) -> pd.DataFrame:
        keys = classes_of(release)
        labels = [
            label(v) if k == keys[0] else v for k, v in zip(keys, release[column], strict=True)
        ]
        return release.assign(**{column: labels})

    return rewritten(change)


def with_ends(low: int, high: int) -> Callable[[str], str]:
    """An interval whose ends are moved by these numbers."""

    def change(label: str) -> str:
        first, _, last = label.strip("[]").partition(", ")
        return f"[{int(first) + low}, {int(last) + high}]"

    return change


def of_another_release(release: pd.DataFrame) -> pd.DataFrame:
    """A row whose values are those of other people."""
    return release.assign(
        disease=["mumps", *release["disease"][1:]],
        region=["west", *release["region"][1:]],
    )


def one_for_another(release: pd.DataFrame) -> pd.DataFrame:
    """A row twice, and another with the same values of the sensitive attribute lost."""
    diseases, keys = release["disease"].tolist(), classes_of(release)
    lost = next(i for i in range(1, len(keys)) if diseases[i] == diseases[0] and keys[i] != keys[0])
    return pd.concat([release.drop(index=lost), release.iloc[:1]])


def other_disease(release: pd.DataFrame) -> pd.DataFrame:
    first = "gout" if release["disease"][0] == "flu" else "flu"
    return release.assign(disease=[first, *release["disease"][1:]])


TABLES: Mapping[str, Mapping[str, Damage]] = {
    "log": {
        "a remove in commit 0": more_log({"remove": REMOVE}),
        "a file outside by an absolute path": added_from_outside(
            lambda area: str(area.parent / "other.parquet"),
        ),
        "a file outside by a URI": added_from_outside(
            lambda area: (area.parent / "other.parquet").as_uri(),
        ),
        "a file outside by ..": added_from_outside(lambda area: "../../other.parquet"),
        "a file outside by an escaped ..": added_from_outside(
            lambda area: "..%2F..%2Fother.parquet",
        ),
        "a column mapping that swaps two columns": column_mapping,
        "a partition column": in_log("metaData", partitionColumns=["disease"]),
        "a partition column with a value": lambda area: [
            in_log("metaData", partitionColumns=["disease"])(area),
            in_log("add", partitionValues={"disease": "flu"})(area),
        ],
        "an inline deletion vector": in_log(
            "add",
            deletionVector={
                "storageType": "i",
                "pathOrInlineDv": "x" * 20,
                "sizeInBytes": 1,
                "cardinality": 40,
            },
        ),
        "a second metaData": twice("metaData"),
        "a second protocol": twice("protocol"),
        "no metaData": without("metaData"),
        "no protocol": without("protocol"),
        "the file twice": twice("add"),
        "another key twice": text_of(LOG, '"size":', '"size": 1, "size":'),
        "a transaction": more_log({"txn": {"appId": "x", "version": 1}}),
        "a domain": more_log(
            {"domainMetadata": {"domain": "x", "configuration": "{}", "removed": False}},
        ),
        "a change file": more_log(
            {"cdc": {"path": "PART", "partitionValues": {}, "size": 1, "dataChange": False}},
        ),
        "a checkpoint's metadata": more_log({"checkpointMetadata": {"version": 0}}),
        "a sidecar": more_log(
            {"sidecar": {"path": "PART", "sizeInBytes": 1, "modificationTime": 1}},
        ),
        "an action that nobody knows": more_log({"magic": {}}),
        "two actions in a line": more_log({"txn": {"appId": "x", "version": 1}, "magic": {}}),
        "the log cut short": content(LOG, lambda whole: whole[:-40]),
        "the log empty": content(LOG, lambda whole: b""),
        "the log as garbage": content(LOG, lambda whole: b"\xff\xfe garbage"),
        "a log of no objects": content(LOG, lambda whole: b"[1]\n"),
        "protocol 99": in_log("protocol", minReaderVersion=99),
        "a writer's protocol 99": in_log("protocol", minWriterVersion=99),
        "a feature that nobody knows": in_log(
            "protocol",
            minReaderVersion=3,
            readerFeatures=["magic"],
        ),
        "a line that adds nothing": more_log({"add": None}),
        "a protocol that is a number": more_log({"protocol": 5}),
        "a path that is no text": in_log("add", path=5),
        "features that are no list": in_log("protocol", readerFeatures=None),
        "a file that changes no data": in_log("add", dataChange=False),
        "another format": in_log("metaData", format={"provider": "csv", "options": {}}),
        "a description": in_log("metaData", description="person 1 has flu"),
        "text as the identity": in_log("metaData", id="person 1 has flu"),
        "text as the time of creation": in_log("metaData", createdTime="person 1 has flu"),
        "text as the time of the file": in_log("add", modificationTime="person 1 has flu"),
        "text as a change of data": in_log("add", dataChange="person 1 has flu"),
        "a name": in_log("metaData", name="person 1 has flu"),
        "a setting": in_log("metaData", configuration={"note": "person 1 has flu"}),
        "a comment of a column": schema(
            lambda fields: fields[0].update(metadata={"comment": "person 1 has flu"}),
        ),
        "a commit's information": more_log({"commitInfo": {"userName": "person 1"}}),
        "a line of text": content(LOG, lambda whole: whole + b'"person 1"\n'),
        "tags of the file": in_log("add", tags={"note": "person 1 has flu"}),
        "statistics": in_log("add", stats='{"numRecords":48,"minValues":{"age":"20"}}'),
        "a false number of rows": in_log("add", stats='{"numRecords":7}'),
    },
    "files of the log": {
        "commit 1 that removes the file": more_log({"remove": REMOVE}, commit=1),
        "commit 1 that adds the file again": more_log(
            {"add": {"path": "PART", **LIKE_THE_PART}},
            commit=1,
        ),
        "commit 1 that changes columns": more_log({"metaData": {"id": "x"}}, commit=1),
        "commit 1 that changes the protocol": more_log(
            {"protocol": {"minReaderVersion": 1}},
            commit=1,
        ),
        "commit 1 of a transaction": more_log({"txn": {"appId": "x", "version": 1}}, commit=1),
        "an empty commit 1": more_log(commit=1),
        "a checkpoint of another table": checkpoint,
        "a checkpoint in the new form": new_file(
            f"{LOGS}/00000000000000000000.checkpoint.{'0' * 36}.json",
            "{}",
        ),
        "a compacted log": new_file(
            f"{LOGS}/00000000000000000000.00000000000000000001.compacted.json",
            "{}",
        ),
        "a checksum of the table": new_file(f"{LOGS}/00000000000000000000.crc", '{"numFiles":1}'),
        "a last checkpoint that is garbage": new_file(f"{LOGS}/_last_checkpoint", "{"),
        "no file": without("add"),
        "a wrong size in commit 0": in_log("add", size=17),
        "the data file cut short": content("PART", lambda whole: whole[:-20]),
        "the data file with a byte less": content("PART", lambda whole: whole[:-1]),
        "the data file with a byte more": content("PART", lambda whole: whole + b"\0"),
        "the data file empty": content("PART", lambda whole: b""),
        "the data file gone": gone("PART"),
        "raw input in the release": raw_beside("release/people.parquet"),
        "raw input in the log": raw_beside(f"{LOGS}/people.parquet"),
        "a hidden file in the release": new_file("release/.people.csv"),
        "a checksum of the data file": lambda area: new_file(f"release/.{the_part(area).name}.crc")(
            area,
        ),
        "a checksum of no file": new_file("release/.people.crc"),
        "a folder in the release": new_file("release/disease=flu/part-0.parquet"),
    },
    "gone": {
        "the log as a file": lambda area: [gone(LOGS)(area), new_file(LOGS)(area)],
        "the log gone": gone(LOGS),
        "the table gone": gone("release"),
        "commit 0 gone": gone(LOG),
    },
    "columns": {
        "another schema: a column less": schema(lambda fields: fields.pop()),
        "another schema: a column more": schema(
            lambda fields: fields.append(
                {"name": "person_id", "type": "string", "nullable": True, "metadata": {}},
            ),
        ),
        "another schema: a type": schema(lambda fields: fields[0].update(type="long")),
        "another schema: names swapped": schema(
            lambda fields: [fields[2].update(name="region"), fields[3].update(name="disease")],
        ),
        "a column of another type": parquet(
            lambda table: table.set_column(0, "age", pa.array(range(len(table)), pa.int64())),
        ),
        "columns in another order": parquet(
            lambda table: table.select(["city", "age", "disease", "region"]),
        ),
        "a column in the data file that the log does not name": parquet(
            lambda table: table.append_column(
                "person_id",
                pa.array([f"person {i}" for i in range(len(table))]),
            ),
        ),
        "a renamed column": parquet(
            lambda table: table.rename_columns(["years", *table.column_names[1:]]),
        ),
        "a column less in the data file": parquet(lambda table: table.drop_columns(["region"])),
        "a column less": rewritten(lambda release: release.drop(columns="region")),
        "a column more": rewritten(lambda release: release.assign(person="person 1")),
    },
    "identifiers": {
        "a direct identifier": rewritten(lambda release: release.assign(name="person 1")),
    },
    "readable": {
        "the data file with another magic number": content("PART", flipped(0)),
        "the data file as other bytes": content(
            "PART",
            lambda whole: b"person 1".ljust(len(whole)),
        ),
    },
    "metadata": {
        "statistics of the data file": parquet(write_statistics=True),
        "a page index of the data file": parquet(write_statistics=True, write_page_index=True),
        "the order of the data file": parquet(sorting_columns=[pq.SortingColumn(0)]),
        "statistics of the data file that hide rows": lambda area: [
            parquet(write_statistics=True)(area),
            resized(in_footer(b"ulcer", b"fluuu"))(area),
        ],
        "text before the columns of the data file": resized(
            lambda whole: whole[:4] + b"person 1" + whole[4:],
        ),
        "text before the footer of the data file": resized(before_the_footer(b"person 1")),
        "text in the metadata of the data file": parquet(
            lambda table: table.replace_schema_metadata({"note": "person 1 has flu"}),
        ),
        "text in the columns of the data file": parquet(
            lambda table: table.replace_schema_metadata(
                {"org.apache.spark.sql.parquet.row.metadata": '{"a": "flu"}'},
            ),
        ),
    },
    "empty": {"no rows": rewritten(lambda release: release.iloc[:0])},
    "rows": {
        "a row less": rewritten(lambda release: release.iloc[1:]),
        "a class less": rewritten(
            lambda release: release[[k != classes_of(release)[0] for k in classes_of(release)]],
        ),
        "a row twice": rewritten(lambda release: pd.concat([release, release.iloc[:1]])),
        "all rows twice": rewritten(lambda release: pd.concat([release, release])),
    },
    "values": {
        "a value changed": rewritten(other_disease),
        "a value that the input does not have": in_first_row("disease", "mumps"),
        "a value of other letters": rewritten(
            lambda release: release.assign(disease=release["disease"].str.upper()),
        ),
        "a value lost": rewritten(
            lambda release: release.assign(disease=[None, *release["disease"][1:]]),
        ),
        "a row of another release": rewritten(of_another_release),
    },
    "labels": {
        "a label that is none": in_first_row("city", "Europe"),
        "an interval that is none": in_first_row("age", "[20, "),
        "a formula": in_first_row("age", "=1+1"),
        "a name for a label": in_first_row("age", "person 1"),
    },
    "hash of the release": {
        "the data file with a byte flipped in its data": content("PART", flipped(60)),
        "a row twice, and another lost": rewritten(one_for_another),
        "all labels wider": rewritten(lambda release: release.assign(city="*")),
        "the label of a class wider": of_one_class("age", with_ends(-1, 0)),
        "the label of a class narrower": of_one_class("age", with_ends(0, -1)),
        "the label of a class moved": of_one_class("age", with_ends(1, 1)),
        "the label of a class lost": of_one_class("age", lambda label: None),
        "the labels of two rows swapped": rewritten(with_labels_swapped),
        "all insensitive values changed": rewritten(lambda release: release.assign(region="north")),
        "an insensitive value changed": in_first_row("region", "west"),
    },
    "k": {
        "a label that one row has": rewritten(
            lambda release: release.assign(
                city=["*" if release["city"][0] != "*" else "Italy", *release["city"][1:]],
            ),
        ),
        "a label that one row has, narrower": in_first_row("age", "[20, 21]"),
        "a label that one row lost": in_first_row("city", None),
    },
    "t": {"two values swapped": rewritten(with_two_swapped)},
}
"""Each is found by its check, also if others find it as well."""
