"""What is recorded of a release or an audit: sections of lines, of which each has one value. Only
published and kept files are read, so that a record does not depend on how the package is built.

A value that would take a long line is recorded by its hash, unless all is to be recorded.
"""

from __future__ import annotations

import csv
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import unified_diff
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml
from html_page import Page

Lines = list[str]
Record = dict[str, Lines]
"""The lines of each section, by its name."""

LONGEST = 120
MOST_SHOWN = 60
OF_THE_MOMENT = ("issued", "contractCreatedTs")
"""Keys of values that differ from run to run."""
NOT_FIGURES = ("handed_on", "seconds", "files", "exports", "sealed")
"""Keys of what a stage records that are hashes of files, and times."""
TABLES = ("release", "sensitive", "classes", "linked", "people", "atoms", "records", "households")
MOMENTS = (
    (r" *\b\d+\.\d s$", " SECONDS s"),
    (r"\d{4}-\d\d-\d\d, \d\d:\d\d UTC|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "MOMENT"),
    (r"<dt>(Seconds|Versions|Configuration)</dt><dd>.*?</dd>", r"<dt>\1</dt>"),
    (r"tclose_spark \d[\w.]*", "tclose_spark VERSION"),
)


def hashed(text: str) -> str:
    return f"#{hashlib.sha256(text.encode()).hexdigest()[:12]}"


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The parts of a JSON text with their keys, in order. Each fits on a line, or is no object."""
    if (
        isinstance(value, Mapping)
        and value
        and (not path or len(path) + len(compact(value)) > LONGEST)
    ):
        for key, part in value.items():
            yield from leaves(part, f"{path}.{key}" if path else str(key))
    else:
        yield path, value


def lines_of(value: Any, whole: bool = False) -> Lines:
    """The lines of a JSON text. whole: with all values; a long list takes a line for each of its
    parts.
    """
    found = Lines()
    for key, part in leaves(value):
        text = compact(part)
        if len(key) + len(text) <= LONGEST:
            found.append(f"{key} = {text}")
        elif whole and isinstance(part, list):
            found += [f"{key}[{place}] = {compact(one)}" for place, one in enumerate(part)]
        elif whole:
            found.append(f"{key} = {text}")
        else:
            size = f" of {len(part)}" if isinstance(part, list) else ""
            found.append(f"{key} = {hashed(text)}{size}")
    return found


def in_order_of_keys(value: Any) -> Any:
    """The same with sorted keys."""
    return json.loads(json.dumps(value, sort_keys=True))


# --- tables


def table_lines(table: pa.Table) -> Lines:
    """The number of rows, and a hash of the multiset of the values of each column, and of the
    rows.
    """
    columns = {name: [*map(compact, table[name].to_pylist())] for name in table.column_names}
    found = [f"rows = {table.num_rows}"]
    for name, values in columns.items():
        found.append(f"{name} = {table.schema.field(name).type} {hashed_all(values)}")
    rows = ["\t".join(row) for row in zip(*columns.values(), strict=True)]
    return [*found, f"together = {hashed_all(rows)}"]


def hashed_all(values: Iterable[str]) -> str:
    return hashed("\n".join(sorted(values)))


def delta(folder: Path) -> pa.Table:
    return deltalake.DeltaTable(str(folder)).to_pyarrow_table()


# --- pages and texts


def page_lines(page: str, paths: Mapping[str, str], whole: bool = False) -> Lines:
    """A hash of each section of a page; all of its text, if that is to be recorded."""
    page = lasting(re.sub(r"<style>.*?</style>", "", page, flags=re.DOTALL), paths)
    page = re.sub(r"\s+", " ", page)
    if whole:
        return [
            *Page(page).text.splitlines(),
            f"drawings = {hashed(' '.join(re.findall('<svg.*?</svg>', page)))}",
        ]
    parts = re.split(r"(?=<h[12][ >])", page)
    titles = [
        re.sub(r"<[^>]*>", "", re.match(r"(.*?</h[12]>)?", part)[0]).strip() for part in parts
    ]  # type: ignore[index]
    return [f"{title or 'top'} = {hashed(part)}" for title, part in zip(titles, parts, strict=True)]


def lasting(text: str, paths: Mapping[str, str]) -> str:
    """A text without moments, versions and paths. paths: what stands for each of them."""
    for path, word in paths.items():
        text = text.replace(path, word)
    for pattern, word in MOMENTS:
        text = re.sub(pattern, word, text)
    return text


# --- releases


def record_of_release(folder: Path, printed: Sequence[str], whole: bool = False) -> Record:
    """The record of a finished release. folder: that of its run file. printed: the lines that the
    run printed.
    """
    public, internal, paths = (
        folder / "out/public",
        folder / "out/internal",
        {str(folder): "FOLDER"},
    )
    found: Record = {"printed": [lasting(line, paths) for line in printed]}
    for side, inside in ((public, "public"), (internal, "internal")):
        names = sorted(entry.name for entry in side.iterdir() if not entry.name.startswith("."))
        found[inside] = [" ".join(names)]
        for entry in sorted(side.iterdir()):
            make = maker_of(entry)
            if make is not None:
                found[f"{inside}/{entry.name}"] = make(entry, paths, whole)
    suite = json.loads((internal / "validation/suite.json").read_text())
    found["internal/validation/suite.json"] = [*map(expectation, suite["expectations"])]
    return found


def record_of_audit(found: Any, folder: Path) -> Record:
    """The record of an audit or an explanation: its JSON in its order, what a terminal and a
    notebook show, its class table, and the suite that checks it. folder: that of the class table.
    """
    paths = {str(folder): "FOLDER"}
    record = {
        "JSON": lines_of(found.to_json(), whole=True),
        "printed": lasting(repr(found), paths).splitlines(),
    }
    record["page"] = page_lines(found.page, paths)
    if (folder / "classes").exists():
        record["classes"] = table_lines(delta(folder / "classes"))
        record["suite"] = [*map(expectation, json.loads(found.suite)["expectations"])]
    return record


def expectation(one: Mapping[str, Any]) -> str:
    """An expectation of a suite as one line."""
    return f"{one['type']} {compact(one['kwargs'])}"


def maker_of(entry: Path) -> Callable[[Path, Mapping[str, str], bool], Lines] | None:
    """What makes the lines of a file or a folder of a release; None for one that is not
    recorded.
    """
    if entry.name.startswith(TABLES) and (entry / "_delta_log").is_dir():
        return lambda entry, paths, whole: table_lines(delta(entry))
    if entry.name.startswith("release_"):
        return lambda entry, paths, whole: export_lines(entry)
    return {
        "certificate.json": certificate_lines,
        "run.json": state_lines,
        "minimality.json": figure_lines,
        "plan_report.json": figure_lines,
        "history.json": history_lines,
        "contract.yaml": contract_lines,
        "codebook.csv": codebook_lines,
        "report.html": lambda entry, paths, whole: page_lines(entry.read_text(), paths, whole),
    }.get(entry.name)


def certificate_lines(entry: Path, paths: Mapping[str, str], whole: bool) -> Lines:
    """The certificate, in its order."""
    certificate = json.loads(entry.read_text())
    certificate["tool"].pop("version")
    return lines_of(
        {key: part for key, part in certificate.items() if key not in OF_THE_MOMENT},
        whole,
    )


def figure_lines(entry: Path, paths: Mapping[str, str], whole: bool) -> Lines:
    """Internal figures, whose keys have no order."""
    return lines_of(in_order_of_keys(json.loads(entry.read_text())), whole)


def history_lines(entry: Path, paths: Mapping[str, str], whole: bool) -> Lines:
    """A line for each release of a line."""
    releases = json.loads(entry.read_text())
    for one in releases:
        one.pop("issued")
    return [compact(one) for one in releases]


def state_lines(entry: Path, paths: Mapping[str, str], whole: bool) -> Lines:
    """The figures of the stages of a run."""
    stages = json.loads(entry.read_text())["stages"]
    for stage in stages.values():
        for key in NOT_FIGURES:
            stage.pop(key, None)
    profile = stages["profile"]
    for key in ("path", "state"):
        profile["input"].pop(key)
    profile.get("earlier", {}).pop("releases", None)  # those of the history
    return lines_of(in_order_of_keys(stages), whole)


def contract_lines(entry: Path, paths: Mapping[str, str], whole: bool) -> Lines:
    contract = yaml.safe_load(entry.read_text())
    return lines_of(
        {key: part for key, part in contract.items() if key not in OF_THE_MOMENT},
        whole,
    )


def codebook_lines(entry: Path, paths: Mapping[str, str], whole: bool) -> Lines:
    head, *rows = csv.reader(entry.read_text().splitlines())
    return [f"columns = {compact(head)}", *(f"{row[0]} = {compact(row[1:])}" for row in rows)]


def export_lines(entry: Path) -> Lines:
    """An export: its rows, and its file's name if it is one file."""
    files = sorted(file for file in entry.iterdir() if file.suffix in (".csv", ".parquet"))
    read = pa.csv.read_csv if files[0].suffix == ".csv" else pq.read_table
    return [
        f"files = {len(files)}",
        *table_lines(pa.concat_tables([read(str(file)) for file in files])),
    ]


# --- recorded and found


def written(record: Record) -> str:
    """A record as text.

    >>> written({"run.json": ["rows = 3"]})
    '## run.json\\nrows = 3\\n'
    """
    return "\n".join(
        f"## {name}\n" + "".join(f"{line}\n" for line in lines) for name, lines in record.items()
    )


def sections_of(text: str) -> Record:
    """The record that `written` wrote."""
    parts = re.split(r"^## (.*)\n", text, flags=re.MULTILINE)[1:]
    return {
        name: [*filter(None, lines.split("\n"))]
        for name, lines in zip(parts[::2], parts[1::2], strict=True)
    }


def require_same(file: Path, found: Record) -> None:
    """Raises AssertionError with the lines that differ from a file, which is written first if
    TCLOSE_RECORD is set.
    """
    found = {
        name: [line.replace("\n", "\\n") for line in lines if line] for name, lines in found.items()
    }
    if "TCLOSE_RECORD" in os.environ:
        file.parent.mkdir(exist_ok=True)
        file.write_text(written(found))
    known = sections_of(file.read_text()) if file.exists() else Record()
    changes = [
        line
        for name in {**known, **found}
        for line in changed(name, known.get(name), found.get(name))
    ]
    more = len(changes) - MOST_SHOWN
    shown = [*changes[:MOST_SHOWN], *([f"and {more} lines more"] if more > 0 else [])]
    assert not changes, "\n".join([f"{file.stem} is not as recorded (- before, + now):", *shown])


def require_only(folder: Path, names: Iterable[str]) -> None:
    """Raises AssertionError for a record of something else. Removes it if TCLOSE_RECORD is set."""
    others = [file for file in sorted(folder.iterdir()) if file.stem not in {*names}]
    if "TCLOSE_RECORD" in os.environ:
        for file in others:
            file.unlink()
        others = []
    assert not others, f"{others[0].name} is a record of nothing"


def changed(name: str, before: Lines | None, now: Lines | None) -> Lines:
    """The lines of a section that differ, below its name."""
    if before == now:
        return []
    if before is None or now is None:
        return [f"{name}: this section is {'new' if before is None else 'gone'}"]
    found = [
        line
        for line in unified_diff(before, now, n=0, lineterm="")
        if not line.startswith(("---", "+++", "@@"))
    ]
    return [f"{name}:", *(f"  {line}" for line in found)]
