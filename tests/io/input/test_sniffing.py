"""What is found in a text file without options."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.errors import InputError
from tclose_spark.io.input.problems import told
from tclose_spark.io.input.sniffing import completed
from tclose_spark.io.input.totals import lines_below
from tclose_spark.runfile.spec import Input

HEADER = "age;sex;town;income"
ROWS = [f"{20 + i};{'fm'[i % 2]};Köln;{i}.{100 + i},5{i % 10}" for i in range(1, 9)]
GERMAN = "\n".join([HEADER, *ROWS]) + "\n"
FOUND = {"sep": ";", "decimal": ",", "thousands": "."}


@pytest.fixture
def find(tmp_path: Path) -> Any:
    """`find(text, encoding, given options)`: (the options that were found, the lines that were
    printed).
    """

    def run(
        text: str | bytes,
        written: str = "utf-8",
        name: str = "a.csv",
        names: Any = (),
        **given: str,
    ) -> Any:
        file = tmp_path / name
        file.write_bytes(text if isinstance(text, bytes) else text.encode(written))
        lines: list[str] = []
        token = told.set(lines.append)
        try:
            made = completed(
                Input(path=str(file), format="csv", options=given),
                names,
                may_leave_out=True,
            )
        finally:
            told.reset(token)
        assert (
            bool(lines) == (made.options != given)
            or "commas" in lines[0]
            or "points" in lines[0]
            or "zone" in lines[0]
        )
        assert not any("Köln" in line for line in lines)
        return {key: value for key, value in made.options.items() if key not in given}, lines

    return run


@pytest.mark.parametrize(
    "text",
    [
        "age,sex\n31,f\n32,m\n",
        "\ufeffage,sex\n31,männlich\n32,m\n",
        "age\n31\n32\n",
        "age,at\n31,1.5\n32,1.234\n",
        'age,name\n31,"a;b;c"\n32,"a;b;c"\n',
        "age,sex\n31\n32,m\n33,f,x\n34,m\n",
        "age,sex\n31,\n,\n",
        "31,f\n32,m\n",
        "",
        "\n",
        '"',
        "a,b\n1,2\n3",
        "a,b\n\0,2\n",
        'age,sex\n31,f\n32,m\n"31,5",m\n',
        "age,job,city\n31,nurse,Rome\n32,cook,Pisa\n33,Stand builder,\n",
    ],
)
def test_a_plain_file_is_left_as_it_is(find: Any, text: str) -> None:
    assert find(text, header="true") == ({}, [])


@pytest.mark.parametrize(
    ("column", "is_doubted"),
    [
        (["950", "1.200", "12.450"], True),
        (["0", "-1.200", "7", "NA"], True),
        (["950", "1.234", "12.455"], False),
        (["0.125", "1.250", "3"], False),
        (["1.200", "12.450"], False),
        (["950", "1.2", "12.450"], False),
        (["950", "1200"], False),
    ],
)
def test_points_before_three_digits_beside_whole_numbers_are_doubted(
    find: Any,
    column: list[str],
    is_doubted: bool,
) -> None:
    found, lines = find(
        "name;income\n" + "".join(f"a;{text}\n" for text in column),
        sep=";",
        header="true",
    )
    assert found == {}
    assert [line for line in lines if "points before three digits" in line] == lines
    assert len(lines) == is_doubted


@pytest.mark.parametrize("encoding", ["windows-1252", "IBM850", "UTF-16", "UTF-16LE", "UTF-16BE"])
def test_an_encoding_is_found(find: Any, encoding: str) -> None:
    found, lines = find(GERMAN, encoding, header="true")
    assert found == {"encoding": encoding, **FOUND}
    assert "found encoding, sep, decimal, thousands" in lines[0]
    assert (
        f"options: {{header: true, encoding: {encoding}, sep: ;, decimal: ',', thousands: .}}"
        in lines[1]
    )


@pytest.mark.parametrize(
    ("encoding", "words"),
    [
        ("windows-1250", "Łódź Gdańsk Żywiec Świętochłowice"),
        ("windows-1251", "Москва Казань Тула"),
        ("MacRoman", "Käse Müller Größe"),
    ],
)
def test_other_encodings_are_found_by_their_words(find: Any, encoding: str, words: str) -> None:
    assert find("a,b\n" + "".join(f"{word},1\n" for word in words.split()), encoding)[0] == {
        "encoding": encoding,
    }


def test_lines_of_a_mac_have_the_encoding_of_a_mac(find: Any) -> None:
    assert find("sex,town\rmännlich,Köln\r", "MacRoman")[0] == {"encoding": "MacRoman"}


def test_utf_8_with_a_damaged_byte_stays_utf_8(find: Any) -> None:
    assert find("a,b\nKöln,1\nKöln,2\n".encode() + b"K\xf6ln,3\n")[0] == {}


@pytest.mark.parametrize("end", ["\r", "\r\n"])
def test_other_ends_of_lines(find: Any, end: str) -> None:
    assert find(TITLED.replace("\n", end), header="true")[0] == {
        "skip_rows": "3",
        "skip_footer": "2",
        **FOUND,
    }


@pytest.mark.parametrize("sep", [";", "\t", "|"])
def test_a_separator_is_found(find: Any, sep: str) -> None:
    assert find(f"a{sep}b\n1,5{sep}2,5\n1,7{sep}x, y\n")[0] == {"sep": sep, "decimal": ","}


def test_small_strokes_are_found(find: Any) -> None:
    assert find("a,b\n'x, y','1'\n'z','2'\n")[0] == {"quote": "'"}


def test_a_header_is_found_by_the_names_of_the_run_file(find: Any) -> None:
    assert find("age,sex\n31,f\n", names=["sex"])[0] == {"header": "true"}
    assert find("age,sex\n31,f\n", names=["_c0"])[0] == {}


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ("1,5|2,25", {"decimal": ","}),
        ("1.234.567|12", {"decimal": ",", "thousands": "."}),
        ("1'234.50|12", {"decimal": ".", "thousands": "'"}),
        ("1 234,5|12", {"decimal": ",", "thousands": " "}),
        ("12\u202f345|1\u202f234", {"decimal": ",", "thousands": "\u202f"}),
        ("123 456 789|601 234 567", {}),
        ("01.02.2020|03.04.2020", {}),
        ("1.5|2.125", {}),
        ("1,5|x", {}),
        ("1.234;1,5|12.500;2|999;3", {"decimal": ",", "thousands": "."}),
        ("1.234;1,5|12.5;2|999;3", {"decimal": ","}),
        ("1.234;1,5|12.500;2|unknown;3", {"decimal": ",", "thousands": "."}),
        ("1,234;1.5|12,500;2|999;3", {}),
    ],
)
def test_marks_in_numbers_are_found(find: Any, texts: str, found: dict[str, str]) -> None:
    rows = [f"{text};x" for text in texts.split("|")]
    assert find("\n".join(["a;b;c"[: 2 * rows[0].count(";") + 1], *rows, ""]))[0] == {
        "sep": ";",
        **found,
    }


@pytest.mark.parametrize(
    ("texts", "found"),
    [
        ("$1,234.50|$12.00", {"currency": "$", "decimal": ".", "thousands": ","}),
        ("1.234,50 €|12,00 €", {"currency": "€", "decimal": ",", "thousands": "."}),
        ("-$5|$7", {"currency": "$"}),
        ("$5|7", {}),
        ("$|$", {}),
    ],
)
def test_a_currency_is_found(find: Any, texts: str, found: dict[str, str]) -> None:
    assert find("a;b\n" + "".join(f"{text};x\n" for text in texts.split("|")))[0] == {
        "sep": ";",
        **found,
    }


def test_times_with_a_zone_are_reported(find: Any) -> None:
    for at, lines in (
        ("2020-01-31T10:30:00+02:00", 1),
        ("2020-01-31 10:30+00:00", 0),
        ("2020-01-31T10:30:00Z", 0),
    ):
        assert len(find(f"at,b\n{at},y\n")[1]) == lines


@pytest.mark.parametrize("sep", [",", ";", "\t"])
def test_ambiguous_marks_are_reported(find: Any, sep: str) -> None:
    found, lines = find(f'a{sep}b\n"1,234"{sep}x\n"12,345"{sep}y\n999{sep}z\n', sep=sep)
    assert found == {}
    assert "set input.options.thousands or decimal" in lines[0]


def test_spaces_between_thousands_are_not_ambiguous(find: Any) -> None:
    assert find("a,b\n12 345,x\n1 234,y\n")[0] == {"decimal": ".", "thousands": " "}


TITLED = f"Office of statistics; 2020\n\nCases;;;\n{GERMAN}Summe;;;36.840,36\nQuelle: Amt\n"


def test_lines_around_a_table_are_found(find: Any, tmp_path: Path) -> None:
    found, lines = find(TITLED, header="true")
    assert found == {
        "sep": ";",
        "skip_rows": "3",
        "skip_footer": "2",
        "decimal": ",",
        "thousands": ".",
    }
    assert (
        "the table seems to begin in line 4; 2 lines below it seem to be a total or notes"
        in lines[0]
    )
    assert find(TITLED, header="true", **found) == ({}, [])
    with pytest.raises(
        InputError,
        match=r"begin in line 4, and 2 lines .* set input.options.skip_rows: 3 and input",
    ):
        completed(Input(path=str(tmp_path / "a.csv"), format="csv", options={"header": "true"}))


def test_a_given_option_wins(find: Any) -> None:
    given = {
        "sep": ",",
        "encoding": "UTF-8",
        "decimal": ".",
        "skip_rows": "0",
        "skip_footer": "0",
        "quote": '"',
    }
    assert find(TITLED, "windows-1252", header="true", **given)[0] == {}


def test_a_zip_file_of_one_file(find: Any, tmp_path: Path) -> None:
    for names in (["a.csv"], ["a.csv", "b.csv"]):
        with zipfile.ZipFile(tmp_path / "made.zip", "w") as made:
            for name in names:
                made.writestr(name, GERMAN.encode("cp1252"))
        content = (tmp_path / "made.zip").read_bytes()
        if len(names) == 1:
            assert find(content, name="a.zip")[0] == {"encoding": "windows-1252", **FOUND}
        else:
            with pytest.raises(InputError, match=r"a.zip holds 2 files; expected one CSV file"):
                find(content, name="a.zip")


def test_only_the_first_bytes_are_read(find: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tclose_spark.io.input.sniffing.PREFIX", 60)
    monkeypatch.setattr("tclose_spark.io.input.sniffing.TAIL", 50)
    rows = "".join(f"{i};x;y\n" for i in range(99))
    total = sum(range(99)) + 1.5
    marks = {"sep": ";", "skip_footer": "1"}
    assert find(f"a;b;c\n{rows}1,5;x;y\nTotal;;{total}\n".replace(".", ","))[0] == marks
    assert find(f"a;b;c\n{rows}1,5;x;y\nTotal;;9\n")[0] == {"sep": ";"}


@pytest.mark.parametrize(
    "last",
    ["Note taker,c,", "Total Quality manager,7,", "Sources,x,9", "Sum,61,"],
)
def test_a_last_row_that_only_looks_like_a_total_is_a_row(find: Any, last: str) -> None:
    assert find(f"job,pay,town\nclerk,20,x\nnurse,40,y\nclerk,31,x\n{last}\n")[0] == {}


@drawn(60)
@given(
    st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 99)), min_size=3, max_size=12),
    st.booleans(),
    st.data(),
)
def test_a_total_has_the_sums_of_the_table(
    rows: list[tuple[int, int]],
    grouped: bool,
    data: st.DataObject,
) -> None:
    table = [[f"p{i}", str(pay), f"{cost}.5", "x"] for i, (pay, cost) in enumerate(rows)]
    pay, cost = sum(one for one, _ in rows), sum(one + 0.5 for _, one in rows)
    total = [
        "Total",
        f"{pay:,}" if grouped else str(pay),
        data.draw(st.sampled_from(["", f"{cost}", f"$ {cost:.2f}"])),
        "",
    ]
    assert lines_below(4, [*table, total], lambda: table) == 1
    wrong = [*total[:1], str(pay + data.draw(st.sampled_from([-1, 1, 10])) + 10**9), *total[2:]]
    assert lines_below(4, [*table, wrong], lambda: table) == 0
    assert lines_below(4, [*table, ["Total", "", "", ""]], lambda: table) == 1


NAMES = st.sampled_from(["age", "sex", "job", "town", "wage"])
TEXTS = st.sampled_from(["nurse", "cook", "f", "m", "Rome", "Köln"])
NUMBERS = st.integers(0, 99).map(str)


@drawn(80, quick=20)
@given(
    names=st.lists(NAMES, min_size=2, max_size=5, unique=True),
    kinds=st.lists(st.sampled_from([TEXTS, NUMBERS]), min_size=6, max_size=6),
    more=st.sampled_from([-1, 1]),
    sep=st.sampled_from(",;\t"),
    data=st.data(),
)
def test_a_header_of_another_length_than_its_rows_is_refused(
    tmp_path_factory: pytest.TempPathFactory,
    names: list[str],
    kinds: list[Any],
    more: int,
    sep: str,
    data: Any,
) -> None:
    width = len(names) - more
    rows = [[data.draw(kind) for kind in kinds[:width]] for _ in range(5)]
    if all(text.isdigit() for text in rows[0]) or not rows[0][0].isdigit():
        rows = [[str(place), *row[1:]] for place, row in enumerate(rows, 1)]  # as R numbers rows
    file = tmp_path_factory.mktemp("header") / "a.csv"
    file.write_text("\n".join(sep.join(line) for line in [names, *rows]))
    source = Input(path=str(file), format="csv", options={"header": "true", "sep": sep})
    with pytest.raises(
        InputError,
        match=f"differ in length: {len(names)} and {width} fields",
    ) as found:
        completed(source, may_leave_out=True)
    assert len(str(found.value).split()) <= 32


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ('"age","sex"\n"1",31,"f"\n"2",40,"m"\n"3",50,"f"\n"4",32,"m"\n', "2 and 3"),
        ('"job","sex"\n"a","nurse","f"\n"b","cook","m"\n"c","cook","f"\n', "2 and 3"),
        ('"x"\n"1","f"\n"2","m"\n"3","f"\n', "1 and 2"),
        ("age,sex,\n31,f\n32,m\n33,f\n", "3 and 2"),
        ("a,b\n1,2,3,4\n1,2,3,4\n1,2,3,4\n", "2 and 4"),
    ],
)
def test_headers_of_r_and_with_a_separator_more_are_refused(
    find: Any,
    text: str,
    counts: str,
) -> None:
    with pytest.raises(InputError, match=f"differ in length: {counts} fields.*skip_rows: 1"):
        find(text, header="true")


@pytest.mark.parametrize(
    "title",
    ["Cases of 2020", "Cases, 2020", "Cases"],
    ids=["a sentence", "with a separator", "a word"],
)
def test_a_title_above_names_is_left_out(find: Any, title: str) -> None:
    found, _ = find(f"{title}\nage,sex,job\n1,f,a\n2,m,a\n3,f,b\n", header="true")
    assert found == {"skip_rows": "1"}


@pytest.mark.parametrize("sep", [",", ";", "|"])
@pytest.mark.parametrize("width", [2, 3])
def test_a_line_that_names_the_separator_is_no_header(find: Any, sep: str, width: int) -> None:
    rows = [["age", "sex", "job"], ["31", "f", "a"], ["32", "m", "b"], ["33", "f", "a"]]
    text = "\n".join([f"sep={sep}", *(sep.join(row[:width]) for row in rows)])
    found, _ = find(text, header="true")
    assert found.pop("sep", ",") == sep
    assert found == {"skip_rows": "1"}
