"""Hostile and odd inputs: CSV, Parquet, folders and values."""

from __future__ import annotations

import gzip
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from case import AGES, PEOPLE, RAW, ROWS, Case, csv_case, csv_of

CSV = csv_of()
LINE = f"{RAW} 99,31,f,flu\n"


def written(table: Mapping[str, Any]) -> bytes:
    """A Parquet file."""
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(dict(table)), sink)
    return bytes(sink.getvalue().to_pybytes())


def first(value: Any, others: list[Any]) -> list[Any]:
    """A column whose first value is this one."""
    return [value, *others[1:]]


def texts(values: list[Any]) -> list[str]:
    return [str(value) for value in values]


def folder_of(**files: bytes) -> Case:
    """A folder of files as the input; `_` in names is a dot."""
    made = {f"people/{name.replace('_', '.')}": content for name, content in files.items()}
    return Case(2, table=None, files=made, roles={"source": {"path": "people"}})


def says(case: Case, *words: str, code: int = 2, **roles: Any) -> Case:
    return Case(
        code,
        words,
        case.table,
        case.files,
        {**case.roles, **roles},
        case.change,
        case.sets,
    )


PARQUET = written(PEOPLE)
NUMERIC: dict[str, Any] = {"quasi": {"age": {"type": "numeric"}, "sex": {}}}
ORDERED: dict[str, Any] = {"sensitive": {"disease": {"distance": "ordered", "t": "0.9"}}}
SETS: dict[str, Any] = {"quasi": {"age": {"type": "numeric"}, "sex": {"generalization": "set"}}}

OF_CSV: dict[str, Case] = {
    "a byte order mark": csv_case(0, "\ufeff" + CSV),
    "lines that end with CR LF": csv_case(0, csv_of(end="\r\n")),
    "lines that end with CR": csv_case(0, csv_of(end="\r")),
    "no end of the last line": csv_case(0, CSV[:-1]),
    "empty lines": csv_case(0, CSV + "\n\n\n"),
    "semicolons": csv_case(0, csv_of(sep=";"), sep=";"),
    "tabs": csv_case(0, csv_of(sep="\t"), sep="\\t"),
    "bars": csv_case(0, csv_of(sep="|"), sep="|"),
    "quoted fields": csv_case(0, CSV.replace("flu", '"flu, of birds"')),
    "doubled quotes": csv_case(0, CSV.replace("flu", '"flu ""A"""'), escape='"'),
    "Latin 1 with its encoding": csv_case(
        0,
        CSV.replace("flu", "grippe é").encode("latin-1"),
        encoding="ISO-8859-1",
    ),
    "UTF-16 with its encoding": csv_case(0, CSV.encode("utf-16"), encoding="UTF-16"),
    "Latin 1 without its encoding": csv_case(0, CSV.replace("flu", "grippe é").encode("latin-1")),
    "UTF-16 without its encoding": csv_case(0, CSV.encode("utf-16")),
    "Latin 1 as UTF-8": csv_case(
        2,
        CSV.replace("flu", f"{RAW}é").encode("latin-1"),
        "'disease'",
        "encoding",
        encoding="UTF-8",
    ),
    "UTF-16 as UTF-8": csv_case(2, CSV.encode("utf-16"), "UTF-16", "encoding", encoding="UTF-8"),
    "titles above the header": csv_case(2, f"{RAW}\n\n{CSV}", "in line 3", "skip_rows: 2"),
    "a total below": csv_case(2, f"{CSV}Total,9\n", "skip_footer: 1"),
    "UTF-8 as UTF-16": csv_case(2, CSV, "encoding", encoding="UTF-16"),
    "an encoding that is none": csv_case(
        2,
        CSV,
        "input.options.encoding",
        "UTF-99",
        encoding="utf-99",
    ),
    "NUL bytes": csv_case(2, CSV.replace("gout", f"{RAW}\0"), "'disease'"),
    "bytes of a picture": csv_case(2, b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "people.csv"),
    "Parquet": csv_case(2, PARQUET, "input.format: parquet"),
    "gzip without its ending": csv_case(2, gzip.compress(CSV.encode()), "gz"),
    "HTML": csv_case(2, f"<html><body>{RAW}</body></html>\n", "'name'"),
    "nothing": csv_case(2, "", "people.csv"),
    "blanks": csv_case(2, "  \n \n", "people.csv", "is empty"),
    "a header and no rows": csv_case(2, CSV.split("\n")[0] + "\n", "no rows"),
    "no header": csv_case(2, CSV.partition("\n")[2], "header"),
    "a header that is not asked for": csv_case(2, CSV, "header", header="false"),
    "another separator": csv_case(0, csv_of(sep=";")),
    "a wrong separator": csv_case(2, csv_of(sep=";"), "sep", sep=","),
    "a name twice": csv_case(
        2,
        CSV.replace("name,age", "age,age"),
        "a name twice",
        "columns 1 and 2",
    ),
    "names that differ by case": csv_case(
        2,
        CSV.replace("name,age", "AGE,age"),
        "a name twice",
        "columns 1 and 2",
    ),
    "a name of another case": csv_case(
        2,
        CSV.replace("name,age", "name,AGE"),
        "'age' is not in the input",
        "'AGE'",
    ),
    "a name with blanks": csv_case(
        2,
        CSV.replace("name,age", "name, age"),
        "'age' is not in the input",
        "' age'",
    ),
    "a row with a field too few": csv_case(2, CSV + f"{RAW},31,f\n", "1 of 25 rows are malformed"),
    "a row with a field too many": csv_case(
        2,
        CSV + LINE[:-1] + f",{RAW}\n",
        "1 of 25 rows are malformed",
    ),
    "all rows with a field too many": csv_case(
        2,
        CSV.replace("flu\n", f"flu,{RAW}\n"),
        "rows are malformed",
    ),
    "a quote without end": csv_case(2, CSV + f'"{RAW},31,f,flu\n', "malformed"),
    "a text in a number": csv_case(2, CSV + f"{RAW} 99,{RAW},f,flu\n", "'age'", "1 of 25 rows"),
    "a number in Arabic digits": csv_case(2, CSV + f"{RAW} 99,٣١,f,flu\n", "'age'", "1 of 25 rows"),
    "a number with a comma": csv_case(2, CSV + f'{RAW} 99,"31,5",f,flu\n', "'age'", "1 of 25 rows"),
    "a number with blanks": csv_case(
        2,
        CSV + f"{RAW} 99, 31 ,f,flu\n",
        "'age'",
        "1 of 25 rows",
        "blanks count",
    ),
    "a number with a sign": csv_case(0, CSV + f"{RAW} 99,+31,f,flu\n"),
    "a hexadecimal number": csv_case(2, CSV + f"{RAW} 99,0x1F,f,flu\n", "'age'", "1 of 25 rows"),
    "a number with underscores": csv_case(
        2,
        CSV + f"{RAW} 99,3_1,f,flu\n",
        "'age'",
        "1 of 25 rows",
    ),
    "a field of a million letters": csv_case(0, CSV.replace("gout", "g" * 1_000_000, 1)),
}

OF_FILES: dict[str, Case] = {
    "Parquet cut short": Case(
        2,
        ("people.parquet", "cannot be read"),
        files={"people.parquet": PARQUET[:-20]},
    ),
    "Parquet without its begin": Case(
        2,
        ("people.parquet", "cannot be read"),
        files={"people.parquet": PARQUET[20:]},
    ),
    "Parquet of no bytes": Case(2, ("people.parquet",), files={"people.parquet": b""}),
    "Parquet that is CSV": Case(
        2,
        ("people.parquet", "cannot be read"),
        files={"people.parquet": CSV.encode()},
    ),
    "Parquet of no rows": Case(2, ("no rows",), pa.table(PEOPLE).slice(0, 0)),
    "Parquet of no columns": Case(2, ("'name'",), pa.table({})),
    "nothing there": Case(
        2,
        ("input.path", "does not exist"),
        roles={"source": {"path": "nobody.parquet"}},
    ),
    "an empty folder": Case(
        2,
        ("input.path",),
        files={"people": lambda path: path.mkdir()},
        roles={"source": {"path": "people"}},
    ),
    "a folder of Parquet and CSV": says(folder_of(a_parquet=PARQUET, b_csv=CSV.encode()), "b.csv"),
    "a folder with a file cut short": says(
        folder_of(a_parquet=PARQUET, b_parquet=PARQUET[:-9]),
        "b.parquet",
    ),
    "a folder with other columns": says(
        folder_of(a_parquet=PARQUET, b_parquet=written({"age": AGES})),
        "b.parquet lacks column",
    ),
    "a folder with marks of Spark": says(folder_of(a_parquet=PARQUET, _SUCCESS=b""), code=0),
    "a link to the input": Case(
        0,
        files={"link.parquet": lambda path: path.symlink_to("people.parquet")},
        roles={"source": {"path": "link.parquet"}},
    ),
    "a broken link": Case(
        2,
        ("input.path",),
        files={"link.parquet": lambda path: path.symlink_to("none")},
        roles={"source": {"path": "link.parquet"}},
    ),
    "a link to itself": Case(
        2,
        ("input.path",),
        files={"link.parquet": lambda path: path.symlink_to(path)},
        roles={"source": {"path": "link.parquet"}},
    ),
}

OF_VALUES: dict[str, Case] = {
    "an infinite number": Case(
        2,
        ("'age'", "1 of 24 rows"),
        {"age": first(float("inf"), [*map(float, AGES)])},
    ),
    "minus infinity": Case(
        2,
        ("'age'", "1 of 24 rows"),
        {"age": first(float("-inf"), [*map(float, AGES)])},
    ),
    "no number": Case(0, (), {"age": first(float("nan"), [*map(float, AGES)])}),
    "minus zero": Case(0, (), {"age": first(-0.0, [*map(float, AGES)])}),
    "1e400 as text": Case(2, ("'age'", "1 of 24 rows"), {"age": first("1e400", texts(AGES))}),
    "1e308 as text": Case(0, (), {"age": first("1e308", texts(AGES))}),
    "the smallest number": Case(0, (), {"age": first(5e-324, [*map(float, AGES)])}),
    "infinity as text": Case(2, ("'age'", "1 of 24 rows"), {"age": first("Infinity", texts(AGES))}),
    "an integer of a hundred digits": Case(
        2,
        ("'age'", "1 of 24 rows"),
        {"age": first("9" * 100, texts(AGES))},
    ),
    "the largest integer": Case(0, (), {"age": first(2**63 - 1, AGES)}),
    "the smallest integer": Case(2, ("'age'", "1 of 24 rows"), {"age": first(-(2**63), AGES)}),
    "unsigned integers": Case(0, (), {"age": pa.array(AGES, pa.uint8())}),
    "an infinite number of an order": Case(
        2,
        ("'disease'", "infinite"),
        {"disease": first(float("inf"), [*map(float, AGES)])},
        roles=ORDERED,
    ),
    "one number in two spellings": Case(
        2,
        ("'disease'",),
        {"disease": first("1.0", ["1"] * ROWS)},
        roles=ORDERED,
    ),
    "missing in all rows": Case(
        2,
        ("'age' is missing in all 24 rows",),
        {"age": pa.array([None] * ROWS, pa.int64())},
    ),
    "a star": Case(2, ("'sex'", "stands for the whole domain"), {"sex": first("*", PEOPLE["sex"])}),
    "an interval": Case(2, ("'age'", "1 of 24 rows"), {"age": first("[20, 29]", texts(AGES))}),
    "a set": Case(2, ("'sex'",), {"sex": first(f"{{{RAW}, m}}", PEOPLE["sex"])}, roles=SETS),
    "commas and quotes in sets": Case(0, (), {"sex": ['a, "b"', "c'd"] * 12}, roles=SETS),
    "line ends in values": Case(0, (), {"sex": ["a\nb", "c\r\nd"] * 12}, roles=SETS),
    "formulas": Case(
        0,
        (),
        {"disease": ["=1+1", "+1", "@SUM(A1)", "-1", "\t=1", "flu"] * 4},
        roles={"output": {"export": ["csv"]}, "sensitive": {"disease": {"t": "0.9"}}},
    ),
    "HTML": Case(
        0,
        (),
        {"disease": ["<script>alert(1)</script>", "a&b", "\"'"] * 8, "sex": ["<i>x", "</td>"] * 12},
    ),
    "templates": Case(0, (), {"disease": ["> {{ 7*7 }} <", "{% raw %}", "${HOME}"] * 8}),
    "emoji, right to left, and accents": Case(
        0,
        (),
        {"disease": ["🤒", "\u202eabc", "e\u0301"] * 8},
    ),
    "long texts": Case(0, (), {"disease": ["a" * 100_000, "b" * 100_000, "c"] * 8}),
    "empty texts": Case(0, (), {"disease": ["", " ", "flu"] * 8}),
    "a struct": Case(2, ("'disease'",), {"disease": pa.array([{"a": 1}] * ROWS)}),
    "a list": Case(2, ("'disease'",), {"disease": pa.array([["flu"]] * ROWS)}),
    "bytes": Case(2, ("'disease'",), {"disease": pa.array([b"\xff\xfe"] * ROWS)}),
    "dictionaries": Case(0, (), {"disease": pa.array(PEOPLE["disease"]).dictionary_encode()}),
    "booleans": Case(0, (), {"disease": [True, False] * 12}),
    "one row": Case(3, ("privacy.k",), pa.table(PEOPLE).slice(0, 1)),
}


def named(name: str, code: int = 0, *words: str) -> Case:
    """A quasi-identifier of this name."""
    table = {name: AGES, **{column: values for column, values in PEOPLE.items() if column != "age"}}
    return Case(
        code,
        words,
        pa.table(table),
        roles={"quasi": {name: {"type": "numeric"}, "sex": {}}},
    )


WIDE = {f"c{i}": ["a", "b"] * 12 for i in range(1000)}
OF_NAMES: dict[str, Case] = {
    "dots": named("a.b.c"),
    "backticks": named("a`b"),
    "quotes": named("a'b\"c"),
    "blanks": named(" a b ", 2, "a Delta table cannot hold this name", "input.columns"),
    "an empty name": named(""),
    "a line end": named("a\nb", 2, "a Delta table cannot hold this name", "input.columns"),
    "a tab": named("a\tb", 2, "a Delta table cannot hold this name", "input.columns"),
    "braces": named("{a}", 2, "a Delta table cannot hold this name", "input.columns"),
    "a comma": named("a,b;c", 2, "a Delta table cannot hold this name", "input.columns"),
    "an equals sign": named("a=b", 2, "a Delta table cannot hold this name", "input.columns"),
    "a slash": named("a/b"),
    "a percent sign": named("a%20b"),
    "a word of SQL": named("select"),
    "a name of Spark's": named("_metadata"),
    "HTML": named(
        "<script>alert(1)</script>",
        2,
        "a Delta table cannot hold this name",
        "input.columns",
    ),
    "a formula": named("=1+1", 2, "a Delta table cannot hold this name", "input.columns"),
    "accents": named("Größe"),
    "emoji": named("🤒"),
    "a thousand letters": named("a" * 1000),
    "a thousand columns": Case(0, (), pa.table({**PEOPLE, **WIDE}), roles={"drop_others": True}),
}
