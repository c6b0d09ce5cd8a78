"""Files of spreadsheets and statistics programs, written by other packages than those that read them."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest

from tclose_spark.engine import sources
from tclose_spark.engine.local import reading
from tclose_spark.engine.tables import collect
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.sniffing import completed, told
from tclose_spark.io.input.table_argument import source_of
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.spec import Input
from tclose_spark.table.columns.spark_types import UNREADABLE

FRAME = pd.DataFrame(
    {
        "age": [31, 40, None],
        "sex": ["f", "männlich", None],
        "income": [1.5, 2.25, 3.0],
        "at": pd.to_datetime(["2020-01-31", "1999-12-01", None]),
    }
)
ROWS = [
    {"age": 31, "sex": "f", "income": 1.5, "at": dt.date(2020, 1, 31)},
    {"age": 40, "sex": "männlich", "income": 2.25, "at": dt.date(1999, 12, 1)},
    {"age": None, "sex": None, "income": 3.0, "at": None},
]
WRITERS: dict[str, Callable[[Path], object]] = {
    "a.xlsx": lambda path: FRAME.to_excel(path, index=False),
    "a.dta": lambda path: FRAME.to_stata(path, write_index=False, convert_dates={"at": "td"}),
    "a.feather": FRAME.to_feather,
    "a.orc": FRAME.to_orc,
    "a.jsonl": lambda path: FRAME.assign(at=FRAME["at"].dt.date.astype("string")).to_json(
        path, orient="records", lines=True
    ),
    "a.json": lambda path: FRAME.assign(at=FRAME["at"].dt.date.astype("string")).to_json(path, orient="records"),
}


def read(path: Path, **options: str) -> list[dict[str, Any]]:
    """The rows, by the format that the path says."""
    return collect(sources.read_table(LocalSession(), source_of(str(path), None, options))).to_pylist()


def plain(value: Any) -> Any:
    """A value as ROWS has it: not all formats have whole numbers or dates."""
    if isinstance(value, str) and value[:1] in "12":
        value = dt.datetime.fromisoformat(value)
    if isinstance(value, dt.datetime):
        return value.date()
    return value


@pytest.mark.parametrize("name", WRITERS)
def test_a_file_is_read(tmp_path: Path, name: str) -> None:
    WRITERS[name](tmp_path / name)
    rows = read(tmp_path / name)
    assert rows == collect(sources.read_table(LocalSession(), Input(path=str(tmp_path / name)))).to_pylist()
    assert [{key: plain(value) for key, value in row.items()} for row in rows] == ROWS
    if name in ("a.xlsx", "a.dta"):
        assert isinstance(rows[0]["age"], int)
        assert type(rows[0]["at"]) is dt.date


def workbook(path: Path, *sheets: list[list[Any]]) -> Path:
    book = openpyxl.Workbook()
    book.remove(book.active)
    for place, rows in enumerate(sheets):
        sheet = book.create_sheet(f"year {place}")
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


@pytest.mark.parametrize("name", ["people.xls", "people.ods"])
def test_workbooks_that_xlwt_and_odfpy_wrote(name: str) -> None:
    rows = read(Path(__file__).with_name("samples") / name)
    assert [{key: plain(value) for key, value in row.items()} for row in rows] == ROWS


def test_a_portable_file_of_spss(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_por(pd.DataFrame({"AGE": [31.0, None], "SEX": ["f", ""]}), tmp_path / "a.por")
    assert read(tmp_path / "a.por") == [{"AGE": 31, "SEX": "f"}, {"AGE": None, "SEX": None}]


def test_a_sheet_with_titles_and_totals(tmp_path: Path) -> None:
    rows = [[], ["Cases of 2020"], [], ["age", "code", None, "seen", None], [31, 7, "x", dt.datetime(2020, 1, 1, 12)]]
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]], [*rows, [32, "b", "y", None], ["Total", 63, None, None]])
    lines: list[str] = []
    token = told.set(lines.append)
    try:
        source = source_of(str(path), None, {"sheet": "year 1"})
        made = completed(source, may_leave_out=True)
        with pytest.raises(InputError, match=r"begin in line 4, and 1 lines below .* set input.options.skip_rows: 3 "):
            sources.read_table(LocalSession(), source)
        assert read(path) == [{"a": 1}]
    finally:
        told.reset(token)
    assert made.options == {"sheet": "year 1", "skip_rows": "3", "skip_footer": "1"}
    assert "found sheet" in lines[-2]
    moment = dt.datetime(2020, 1, 1, 12)
    assert collect(sources.read_table(LocalSession(), made)).to_pylist() == [
        {"age": 31, "code": "7", "_2": "x", "seen": moment},
        {"age": 32, "code": "b", "_2": "y", "seen": None},
    ]


def test_a_sheet_that_is_not_there_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]])
    with pytest.raises(InputError, match="has no such sheet; it has year 0"):
        read(path, sheet="2020")


def test_codes_are_their_labels_if_all_have_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": [1, 2, 1], "age": [31, 98, 40]})
    labels: Any = {"sex": {1: "m", 2: "f"}, "age": {98: "refused"}}
    frame.to_stata(tmp_path / "a.dta", write_index=False, value_labels=labels)
    assert read(tmp_path / "a.dta") == [{"sex": "m", "age": 31}, {"sex": "f", "age": 98}, {"sex": "m", "age": 40}]


def test_declared_missing_codes_of_spss_are_missing(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")  # no other package writes such files
    frame = pd.DataFrame({"age": [31.0, 98.0, 40.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), missing_ranges={"age": [98]})
    assert read(tmp_path / "a.sav") == [{"age": 31}, {"age": None}, {"age": 40}]


def test_a_sas_transport_file(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_xport(FRAME[["age", "income"]], str(tmp_path / "a.xpt"))
    assert read(tmp_path / "a.xpt") == [{key: row[key] for key in ("age", "income")} for row in ROWS]


@pytest.mark.parametrize(("name", "kind"), [("a.xlsx", "an Excel"), ("a.dta", "a Stata"), ("a.sav", "an SPSS")])
def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, kind: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    for module in ("python_calamine", "pyreadstat"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigurationError, match=rf"{name} is {kind} file: pip install 'tclose-spark\[formats\]'"):
        read(tmp_path / name)


@pytest.mark.parametrize("name", ["a.xlsx", "a.ods", "a.dta", "a.sav", "a.sas7bdat", "a.feather", "a.orc", "a.jsonl"])
def test_a_damaged_file_is_refused_without_its_content(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"SECRET \xff" * 99)
    with pytest.raises(InputError, match="cannot be read as") as found:
        read(tmp_path / name)
    assert "SECRET" not in str(found.value)


def test_a_file_of_any_other_name_is_csv(tmp_path: Path) -> None:
    (tmp_path / "people.data").write_text("a;b\n1;2\n")
    assert read(tmp_path / "people.data") == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize("kind", ["frame", "feather", "parquet"])
def test_intervals_are_texts(tmp_path: Path, kind: str) -> None:
    ages = pd.Series([21, 35, None])
    frame = pd.DataFrame({"age": pd.arrays.IntervalArray(pd.cut(ages, [20, 30, 40], right=False))})
    path = tmp_path / f"a.{kind}"
    if kind == "frame":
        frame["cut"] = pd.cut(ages, [20, 30, 40])
        rows = reading.frame_table(LocalSession(), frame).collect().to_pylist()
        assert [row.pop("cut") for row in rows] == ["(20, 30]", "(30, 40]", None]
    else:
        getattr(frame, f"to_{kind}")(path)
        rows = read(path)
    assert [row["age"] for row in rows] == ["[20.0, 30.0)", "[30.0, 40.0)", None]


@pytest.mark.parametrize("kind", ["frame", "feather", "parquet"])
def test_times_of_a_zone_are_asked_about(tmp_path: Path, kind: str) -> None:
    at = pa.array([dt.datetime(2020, 1, 1, 10)], pa.timestamp("us", "Europe/Berlin"))
    table = pa.table({"at": at, "utc": at.cast(pa.timestamp("us", "UTC"))})
    path = tmp_path / f"a.{kind}"
    if kind == "frame":
        schema = reading.frame_table(LocalSession(), table).schema
    else:
        getattr(table.to_pandas(), f"to_{kind}")(path)
        schema = sources.read_table(LocalSession(), source_of(str(path), None, {})).schema
    assert b"a timestamp of the zone Europe/Berlin" in schema.field("at").metadata[UNREADABLE]
    assert not schema.field("utc").metadata


@pytest.mark.parametrize(("name", "key"), [("a.xlsx", "thousands"), ("a.xlsx", "sep"), ("a.dta", "header")])
def test_an_option_that_a_format_does_not_have_is_refused(tmp_path: Path, name: str, key: str) -> None:
    WRITERS[name](tmp_path / name)
    with pytest.raises(ConfigurationError, match=rf"input\.options\.{key}: format \w+ has no such option"):
        read(tmp_path / name, **{key: "."})
