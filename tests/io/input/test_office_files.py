"""Files of spreadsheets and statistics programs, written by other packages than those that read
them.
"""

from __future__ import annotations

import datetime as dt
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import openpyxl
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.engine import sources
from tclose_spark.engine.local.table import frame_table
from tclose_spark.engine.tables import collect
from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.io.input.files import source_of
from tclose_spark.io.input.problems import told
from tclose_spark.io.input.sniffing import completed
from tclose_spark.io.local_session import LocalSession
from tclose_spark.runfile.spec import Input
from tclose_spark.table.columns.spark_types import UNREADABLE

FRAME = pd.DataFrame(
    {
        "age": [31, 40, None],
        "sex": ["f", "männlich", None],
        "income": [1.5, 2.25, 3.0],
        "at": pd.to_datetime(["2020-01-31", "1999-12-01", None]),
    },
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
        path,
        orient="records",
        lines=True,
    ),
    "a.json": lambda path: FRAME.assign(at=FRAME["at"].dt.date.astype("string")).to_json(
        path,
        orient="records",
    ),
}


def read(path: Path, **options: str) -> list[dict[str, Any]]:
    """The rows, by the format that the path says."""
    return collect(
        sources.read_table(LocalSession(), source_of(str(path), None, options)),
    ).to_pylist()


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
    assert (
        rows
        == collect(sources.read_table(LocalSession(), Input(path=str(tmp_path / name)))).to_pylist()
    )
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


def test_a_workbook_is_known_by_its_content(tmp_path: Path) -> None:
    source = Path(__file__).with_name("samples") / "people.xls"
    (tmp_path / "people.xlsx").write_bytes(source.read_bytes())
    assert read(tmp_path / "people.xlsx") == read(source)


@pytest.mark.parametrize("name", ["people.xls", "people.ods"])
def test_workbooks_that_xlwt_and_odfpy_wrote(name: str) -> None:
    rows = read(Path(__file__).with_name("samples") / name)
    assert [{key: plain(value) for key, value in row.items()} for row in rows] == ROWS


def test_a_portable_file_of_spss(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_por(pd.DataFrame({"AGE": [31.0, None], "SEX": ["f", ""]}), tmp_path / "a.por")
    assert read(tmp_path / "a.por") == [{"AGE": 31, "SEX": "f"}, {"AGE": None, "SEX": None}]


def test_a_sheet_with_titles_and_totals(tmp_path: Path) -> None:
    rows = [
        [],
        ["Cases of 2020"],
        [],
        ["age", "code", None, "seen", None],
        [31, 7, "x", dt.datetime(2020, 1, 1, 12)],
    ]
    path = workbook(
        tmp_path / "a.xlsx",
        [["a"], [1]],
        [*rows, [32, "b", "y", None], ["Total", 63, None, None]],
    )
    lines: list[str] = []
    token = told.set(lines.append)
    try:
        source = source_of(str(path), None, {"sheet": "year 1"})
        made = completed(source, may_leave_out=True)
        with pytest.raises(
            InputError,
            match=r"begin in line 4, and 1 lines below .* set input.options.skip_rows: 3 ",
        ):
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


@pytest.mark.parametrize(
    ("asked", "hint"),
    [("Sick 2020", "; did you mean 'Sick 2021'?"), ("2020", "")],
)
def test_a_sheet_that_is_not_there_shows_no_names_but_an_alike_one(
    tmp_path: Path,
    asked: str,
    hint: str,
) -> None:
    book = openpyxl.Workbook()
    for name in ("Hans Meier", "Sick 2021"):
        book.create_sheet(name)
    book.save(tmp_path / "a.xlsx")
    with pytest.raises(InputError) as found:
        read(tmp_path / "a.xlsx", sheet=asked)
    assert (
        str(found.value)
        == f"input.options.sheet: a.xlsx has no sheet of this name, but 3 other{hint}"
    )


def noted(path: Path, **options: str) -> tuple[list[dict[str, Any]], list[str]]:
    """(the rows, the notes about them)."""
    lines: list[str] = []
    token = told.set(lines.append)
    try:
        return read(path, **options), lines
    finally:
        told.reset(token)


def test_a_sheet_without_a_header_keeps_its_first_row(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [[31, "f"], [40, None]])
    assert read(path, header="false") == [{"_c0": 31, "_c1": "f"}, {"_c0": 40, "_c1": None}]
    assert read(path) == [{"31": 40, "f": None}]


MIDNIGHT = dt.datetime(2020, 1, 1)
CELLS: dict[str, tuple[list[Any], list[Any]]] = {
    "moments": ([MIDNIGHT, MIDNIGHT.replace(hour=12)], [MIDNIGHT, MIDNIGHT.replace(hour=12)]),
    "times": ([dt.time(0), dt.time(6, 30)], ["00:00:00", "06:30:00"]),
    "durations": ([dt.timedelta(hours=30), dt.timedelta(hours=6)], ["30:00:00", "06:00:00"]),
    "large": ([1e19, 2.0], [1e19, 2.0]),
    "larger than all": ([2.0**63, 1.0], [2.0**63, 1.0]),
    "largest": ([2.0**62, 1.0], [2**62, 1]),
}


@pytest.mark.parametrize("name", CELLS)
def test_cells_keep_their_values(tmp_path: Path, name: str) -> None:
    cells, expected = CELLS[name]
    path = workbook(tmp_path / "a.xlsx", [["x"], *([cell] for cell in cells)])
    values = [row["x"] for row in read(path)]
    assert values == expected
    assert [*map(type, values)] == [*map(type, expected)]


def test_lost_cells_and_empty_rows_are_noted(tmp_path: Path) -> None:
    path = workbook(
        tmp_path / "a.xlsx",
        [["a", "b"], [1, "#N/A"], [None, None], [2, "=A2"], [3, "x"]],
    )
    rows, notes = noted(path)
    assert rows == [{"a": 1, "b": None}, {"a": 2, "b": None}, {"a": 3, "b": "x"}]
    assert notes == [
        "note: a.xlsx has 1 empty rows between others, which are left out",
        "note: a.xlsx has 2 cells with errors, or with formulas without a stored value, read as "
        "missing",
    ]
    assert noted(workbook(path, [["a"], [1], [None], [None]])) == ([{"a": 1}], [])


def test_errors_of_another_sheet_are_not_noted(tmp_path: Path) -> None:
    path = workbook(tmp_path / "a.xlsx", [["a"], [1]], [["b"], ["#REF!"], [2]])
    assert noted(path, sheet="year 0") == ([{"a": 1}], [])
    assert "1 cells with errors" in noted(path, sheet="year 1")[1][-1]


def test_errors_of_an_open_document_are_noted(tmp_path: Path) -> None:
    source = Path(__file__).with_name("samples") / "people.ods"
    path = tmp_path / "a.ods"
    error = (
        b'<table:table-row><table:table-cell table:formula="of:=1/0" office:value-type="string" '
        b'office:string-value="" calcext:value-type="error"/></table:table-row></table:table>'
    )
    with zipfile.ZipFile(source) as held, zipfile.ZipFile(path, "w") as made:
        for name in held.namelist():
            content = held.read(name)
            made.writestr(
                name,
                content.replace(b"</table:table>", error) if name == "content.xml" else content,
            )
    assert any("1 cells with errors" in line for line in noted(path)[1])


WRITERS_OF_TIMES = {
    "a.sav": ("write_sav", "TIME8"),
    "b.sav": ("write_sav", "DTIME20.2"),
    "a.por": ("write_por", "TIME11.2"),
    "a.xpt": ("write_xport", "TIME8"),
}
SECONDS = st.one_of(
    st.none(),
    st.integers(-(10**6), 10**6).map(float),
    st.floats(-1e5, 1e5).map(lambda x: round(x, 2)),
)


def seconds_of(text: str) -> float:
    hours, minutes, seconds = text.removeprefix("-").split(":")
    return (3600 * int(hours) + 60 * int(minutes) + float(seconds)) * (
        -1 if text.startswith("-") else 1
    )


@pytest.mark.parametrize("name", WRITERS_OF_TIMES)
@drawn(20)
@given(values=st.lists(SECONDS, min_size=1, max_size=6).filter(any))
def test_times_of_statistics_programs_keep_whole_days(
    tmp_path_factory: pytest.TempPathFactory,
    name: str,
    values: list[float | None],
) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    writer, kind = WRITERS_OF_TIMES[name]
    path = tmp_path_factory.mktemp("times") / name
    getattr(pyreadstat, writer)(
        pd.DataFrame({"X": values}, dtype=float),
        path,
        variable_format={"X": kind},
    )
    texts = [row["X"] for row in read(path)]
    assert [None if text is None else seconds_of(text) for text in texts] == pytest.approx(
        values,
        abs=1e-4,
    )


def test_times_of_day_stay_as_they_were_written(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    frame = pd.DataFrame({"X": [30 * 3600.0, 6 * 3600, 0, -60.5, None]})
    pyreadstat.write_sav(frame, tmp_path / "a.sav", variable_format={"X": "DTIME20.2"})
    assert [row["X"] for row in read(tmp_path / "a.sav")] == [
        *("30:00:00", "06:00:00", "00:00:00", "-00:01:00.500000", None),
    ]


def test_clocks_of_stata_are_times_within_a_day_and_moments_beyond(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    hour = 3.6e6
    frame = pd.DataFrame({"x": [6 * hour, 23 * hour], "y": [6 * hour, 30 * hour]})
    formats = dict.fromkeys(("x", "y"), "%tcHH:MM:SS")
    pyreadstat.write_dta(frame, tmp_path / "a.dta", variable_format=formats)
    rows = read(tmp_path / "a.dta")
    assert [row["x"] for row in rows] == ["06:00:00", "23:00:00"]
    assert [row["y"] for row in rows] == [dt.datetime(1960, 1, 1, 6), dt.datetime(1960, 1, 2, 6)]


@pytest.mark.parametrize("name", ["a.sav", "a.dta"])
def test_numbers_beyond_integers_are_doubles(tmp_path: Path, name: str) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    getattr(pyreadstat, f"write_{name[2:]}")(
        pd.DataFrame({"x": [1e19, -(2.0**63), 3.0]}),
        tmp_path / name,
    )
    assert [row["x"] for row in read(tmp_path / name)] == [1e19, -(2.0**63), 3.0]


def test_codes_that_share_a_label_stay_codes(tmp_path: Path) -> None:
    frame = pd.DataFrame({"job": [1, 2, 3], "sex": [1, 2, 1]})
    labels: Any = {"job": {1: "cook", 2: "other", 3: "other"}, "sex": {1: "m", 2: "f", 3: "f"}}
    frame.to_stata(tmp_path / "a.dta", write_index=False, value_labels=labels)
    rows, notes = noted(tmp_path / "a.dta")
    assert rows == [{"job": 1, "sex": "m"}, {"job": 2, "sex": "f"}, {"job": 3, "sex": "m"}]
    assert notes == [
        "note: column 'job' of a.dta has codes that share a value label, so it is read as its codes",
    ]


def test_codes_are_their_labels_if_all_have_one(tmp_path: Path) -> None:
    frame = pd.DataFrame({"sex": [1, 2, 1], "age": [31, 98, 40]})
    labels: Any = {"sex": {1: "m", 2: "f"}, "age": {98: "refused"}}
    frame.to_stata(tmp_path / "a.dta", write_index=False, value_labels=labels)
    assert read(tmp_path / "a.dta") == [
        {"sex": "m", "age": 31},
        {"sex": "f", "age": 98},
        {"sex": "m", "age": 40},
    ]


def test_declared_missing_codes_of_spss_are_missing(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")  # no other package writes such files
    frame = pd.DataFrame({"age": [31.0, 98.0, 40.0]})
    pyreadstat.write_sav(frame, str(tmp_path / "a.sav"), missing_ranges={"age": [98]})
    assert read(tmp_path / "a.sav") == [{"age": 31}, {"age": None}, {"age": 40}]


def test_a_sas_transport_file(tmp_path: Path) -> None:
    pyreadstat = pytest.importorskip("pyreadstat")
    pyreadstat.write_xport(FRAME[["age", "income"]], str(tmp_path / "a.xpt"))
    assert read(tmp_path / "a.xpt") == [
        {key: row[key] for key in ("age", "income")} for row in ROWS
    ]


@pytest.mark.parametrize(
    ("name", "kind"),
    [("a.xlsx", "an Excel"), ("a.dta", "a Stata"), ("a.sav", "an SPSS")],
)
def test_a_missing_package_is_named(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    kind: str,
) -> None:
    (tmp_path / name).write_bytes(b"x")
    for module in ("python_calamine", "pyreadstat"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(
        ConfigurationError,
        match=rf"{name} is {kind} file: pip install 'tclose-spark\[formats\]'",
    ):
        read(tmp_path / name)


@pytest.mark.parametrize(
    "name",
    ["a.xlsx", "a.ods", "a.dta", "a.sav", "a.sas7bdat", "a.feather", "a.orc", "a.jsonl"],
)
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
        rows = frame_table(LocalSession(), frame).collect().to_pylist()
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
        schema = frame_table(LocalSession(), table).schema
    else:
        getattr(table.to_pandas(), f"to_{kind}")(path)
        schema = sources.read_table(LocalSession(), source_of(str(path), None, {})).schema
    assert b"a timestamp of the zone Europe/Berlin" in schema.field("at").metadata[UNREADABLE]
    assert not schema.field("utc").metadata
