"""How a release is damaged: its table, its files, its certificate.

Names are those in the folder of the release: the public folder, or the staging area. `PART` is the
data file.
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
from people import PEOPLE, read

from tclose_spark.engine.tables import of_arrow, write_delta
from tclose_spark.io.input.arrow_frames import as_arrow, readable
from tclose_spark.io.local_session import LocalSession

Damage = Callable[[Path], object]

PLAIN = {"store_schema": False, "write_statistics": False}
LOG = "release/_delta_log/00000000000000000000.json"


def the_part(area: Path) -> Path:
    (part,) = (area / "release").glob("part-*.parquet")
    return part


def actions(area: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (area / LOG).read_text().splitlines()]


def write_log(area: Path, lines: list[dict[str, Any]], commit: int = 0) -> None:
    path = area / LOG.replace("0.json", f"{commit}.json")
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


def in_log(kind: str, **fields: Any) -> Damage:
    """Changes fields of the actions of a kind."""

    def damage(area: Path) -> None:
        lines = actions(area)
        for line in lines:
            if kind in line:
                line[kind] |= fields
        write_log(area, lines)

    return damage


def more_log(*lines: dict[str, Any], commit: int = 0) -> Damage:
    """Adds actions to a commit; `PART` in them is the name of the data file."""

    def damage(area: Path) -> None:
        text = json.dumps(lines).replace("PART", the_part(area).name)
        write_log(area, [*(actions(area) if commit == 0 else []), *json.loads(text)], commit)

    return damage


def outside(area: Path) -> dict[str, Any]:
    """An `add` of a copy of the data file that lies outside the table and its folder."""
    copy = shutil.copy(the_part(area), area.parent / "other.parquet")
    return {
        "size": Path(copy).stat().st_size,
        "partitionValues": {},
        "modificationTime": 1,
        "dataChange": True,
    }


def added_from_outside(path: Callable[[Path], str]) -> Damage:
    def damage(area: Path) -> None:
        write_log(area, [*actions(area), {"add": {"path": path(area), **outside(area)}}])

    return damage


def schema(change: Callable[[list[dict[str, Any]]], object]) -> Damage:
    """Changes the columns that the log says."""

    def damage(area: Path) -> None:
        lines = actions(area)
        for line in lines:
            if "metaData" in line:
                described = json.loads(line["metaData"]["schemaString"])
                change(described["fields"])
                line["metaData"]["schemaString"] = json.dumps(described)
        write_log(area, lines)

    return damage


def swap_disease_and_region(fields: list[dict[str, Any]]) -> None:
    names = {"disease": "region", "region": "disease"}
    for place, field in enumerate(fields, start=1):
        physical = names.get(field["name"], field["name"])
        field["metadata"] = {
            "delta.columnMapping.id": place,
            "delta.columnMapping.physicalName": physical,
        }


def column_mapping(area: Path) -> None:
    schema(swap_disease_and_region)(area)
    settings = {"delta.columnMapping.mode": "name", "delta.columnMapping.maxColumnId": "4"}
    in_log("metaData", configuration=settings)(area)
    in_log("protocol", minReaderVersion=2, minWriterVersion=5)(area)


def parquet(change: Callable[[pa.Table], pa.Table] = lambda table: table, **options: Any) -> Damage:
    """Rewrites the data file with these options of its writer, with its size in the log."""

    def damage(area: Path) -> None:
        part = the_part(area)
        table = change(pq.read_table(part))
        with pq.ParquetWriter(part, table.schema, **{**PLAIN, **options}) as writer:
            writer.write_table(table)
            writer.add_key_value_metadata(table.schema.metadata or {})
        in_log("add", size=part.stat().st_size)(area)

    return damage


def content(name: str, change: Callable[[bytes], bytes]) -> Damage:
    """Changes the bytes of a file; `PART` is the data file."""

    def damage(area: Path) -> None:
        path = the_part(area) if name == "PART" else area / name
        path.write_bytes(change(path.read_bytes()))

    return damage


def resized(change: Callable[[bytes], bytes]) -> Damage:
    """Changes the bytes of the data file, with its size in the log."""

    def damage(area: Path) -> None:
        content("PART", change)(area)
        in_log("add", size=the_part(area).stat().st_size)(area)

    return damage


def in_footer(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """Other bytes in the footer of a Parquet file."""

    def change(whole: bytes) -> bytes:
        at = len(whole) - 8 - pq.read_metadata(pa.BufferReader(whole)).serialized_size
        assert len(old) == len(new)
        assert old in whole[at:]
        return whole[:at] + whole[at:].replace(old, new)

    return change


def before_the_footer(text: bytes) -> Callable[[bytes], bytes]:
    """Bytes between the columns and the footer of a Parquet file."""

    def change(whole: bytes) -> bytes:
        at = len(whole) - 8 - pq.read_metadata(pa.BufferReader(whole)).serialized_size
        return whole[:at] + text + whole[at:]

    return change


def flipped(at: int) -> Callable[[bytes], bytes]:
    return lambda whole: whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]


def new_file(name: str, text: str = "person 1,flu") -> Damage:
    def damage(area: Path) -> None:
        (area / name).parent.mkdir(parents=True, exist_ok=True)
        (area / name).write_text(text)

    return damage


def gone(name: str) -> Damage:
    def damage(area: Path) -> None:
        path = the_part(area) if name == "PART" else area / name
        shutil.rmtree(path) if path.is_dir() else path.unlink()

    return damage


def raw_beside(name: str) -> Damage:
    def damage(area: Path) -> None:
        pq.write_table(PEOPLE, area / name)

    return damage


def certificate(*path: Any, value: Any) -> Damage:
    """Changes one field of the certificate."""

    def damage(area: Path) -> None:
        file = area / "certificate.json"
        whole = json.loads(file.read_text())
        holder = whole
        for key in path[:-1]:
            holder = holder[key]
        assert holder.get(path[-1]) != value
        holder[path[-1]] = value
        file.write_text(json.dumps(whole, indent=2))

    return damage


def text_of(name: str, old: str, new: str) -> Damage:
    return content(name, lambda whole: re.sub(old.encode(), new.encode(), whole, count=1))


def rewritten(change: Callable[[pd.DataFrame], pd.DataFrame]) -> Damage:
    """Writes other rows in place of the release, as a release is written."""

    def damage(area: Path) -> None:
        release = area / "release"
        changed = change(read(release))
        shutil.rmtree(release)
        write_delta(of_arrow(LocalSession(), readable(as_arrow(changed))[0]), str(release))

    return damage
