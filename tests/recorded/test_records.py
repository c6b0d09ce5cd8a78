"""A record shows each change by its section and key, and nothing that differs from run to run."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from records import (
    lasting,
    lines_of,
    page_lines,
    require_only,
    require_same,
    sections_of,
    table_lines,
    written,
)

PAGE = "<html><h1>a</h1><h2>Sizes</h2><p>{}</p><h2>Loss</h2><p>0.5</p></html>"
MADE = "Made 2026-01-02, 10:11 UTC by tclose_spark 0.1.0 and 2026-01-02T10:11:12Z in /tmp/x/out"


@pytest.fixture(autouse=True)
def comparing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TCLOSE_RECORD", raising=False)


def test_a_line_is_a_value_and_a_long_list_is_hashed() -> None:
    long = [*range(100)]
    assert lines_of({"k": {"asked": 3}, "rows": 5}) == ['k = {"asked": 3}', "rows = 5"]
    assert lines_of({"b": long})[0].endswith(" of 100")
    assert lines_of({"b": long}) != lines_of({"b": [*long[:-1], 7]})
    assert lines_of({"b": long}, whole=True)[99] == "b[99] = 99"


def test_the_order_of_keys_is_recorded() -> None:
    assert lines_of({"a": 1, "b": 2}) != lines_of({"b": 2, "a": 1})
    assert lines_of({"x": {"a": 1, "b": 2}}) != lines_of({"x": {"b": 2, "a": 1}})


def test_a_table_is_the_same_in_any_order_of_its_rows_only() -> None:
    table = pa.table({"age": [20, 30, 30], "sex": ["f", "m", "f"]})
    exchanged = pa.table({"age": [30, 20, 30], "sex": ["f", "m", "f"]})
    assert table_lines(table.take([2, 0, 1])) == table_lines(table)
    assert [a == b for a, b in zip(table_lines(table), table_lines(exchanged), strict=True)] == [
        True,
        True,
        True,
        False,
    ]


def test_a_page_names_the_section_that_differs() -> None:
    first, second = (page_lines(PAGE.format(size), {}) for size in (4, 5))
    assert [
        line.partition(" =")[0] for line, other in zip(first, second, strict=True) if line != other
    ] == ["Sizes"]
    assert page_lines(PAGE.format("4 \n"), {}) == page_lines(
        PAGE.format(" 4 ").replace("> 4", ">4"),
        {},
    )


def test_moments_versions_and_paths_are_not_recorded() -> None:
    assert (
        lasting(MADE, {"/tmp/x": "FOLDER"})
        == "Made MOMENT by tclose_spark VERSION and MOMENT in FOLDER/out"
    )


def test_the_width_of_a_time_is_not_recorded() -> None:
    assert {
        lasting(f"profile    read 3 rows{seconds:>12.1f} s", {}) for seconds in (0.5, 12.25, 100)
    } == {"profile    read 3 rows SECONDS s"}


def test_a_record_is_read_as_it_was_written() -> None:
    record = {"public/release": ["rows = 3"], "printed": ["a", "  b"]}
    assert sections_of(written(record)) == record


def test_what_differs_is_shown_by_section(tmp_path: Path) -> None:
    file = tmp_path / "run.txt"
    file.write_text(written({"figures": ["k = 3", "t = 0.2"], "printed": ["a"]}))
    require_same(file, {"figures": ["k = 3", "t = 0.2"], "printed": ["a"]})
    with pytest.raises(AssertionError) as error:
        require_same(file, {"figures": ["k = 3", "t = 0.3"], "page": ["b"]})
    shown = str(error.value)
    assert shown.startswith(
        "run is not as recorded (- before, + now):\nfigures:\n  -t = 0.2\n  +t = 0.3\n",
    )
    assert "printed: this section is gone" in shown
    assert "page: this section is new" in shown
    assert "k = 3" not in shown


def test_a_run_without_a_record_is_no_success(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="figures: this section is new"):
        require_same(tmp_path / "run.txt", {"figures": ["k = 3"]})


def test_a_record_of_nothing_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "old.txt").write_text("")
    with pytest.raises(AssertionError, match=r"old.txt is a record of nothing"):
        require_only(tmp_path, ["run"])


def test_recording_writes_what_is_found_and_removes_what_is_not(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TCLOSE_RECORD", "1")
    (tmp_path / "old.txt").write_text("")
    require_same(tmp_path / "run.txt", {"figures": ["k = 3"]})
    require_only(tmp_path, ["run"])
    assert [file.name for file in tmp_path.iterdir()] == ["run.txt"]
    assert sections_of((tmp_path / "run.txt").read_text()) == {"figures": ["k = 3"]}
