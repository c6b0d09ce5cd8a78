"""Each option of a reader is taken by the formats that have it, and refused by all others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.files import source_of
from tclose_spark.runfile.formats import OPTIONS, TYPES, Format, known_options
from tclose_spark.runfile.spec import Input

FORMATS = get_args(Format)
EVERY = sorted(
    {name for names in OPTIONS.values() for name in names}
    | {"mode", "columnNameOfCorruptRecord", "seq"},
)
CASES = [(kind, name) for kind in FORMATS for name in EVERY if kind != "table"]


def value_of(name: str) -> str:
    return "3" if name in ("versionAsOf", "skip_rows", "skip_footer") else "true"


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_an_option_of_another_format_is_refused(kind: Any, name: str) -> None:
    options = {"inferSchema": "true"} if name in TYPES and kind == "csv" else {}
    options[name] = value_of(name)
    if name in OPTIONS.get(kind, ()):
        assert Input(path="x", format=kind, options=options).options == options
        return
    with pytest.raises(
        ConfigurationError,
        match=rf"options: {name} is no option of format {kind}; ",
    ) as found:
        Input(path="x", format=kind, options=options)
    assert len(str(found.value).split()) <= 50


@drawn(100, quick=20)
@given(
    kind=st.sampled_from(sorted(OPTIONS)),
    flips=st.lists(st.booleans(), min_size=40),
    data=st.data(),
)
def test_names_of_options_have_any_case(kind: Any, flips: list[bool], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in OPTIONS[kind] if name not in TYPES]))
    typed = "".join(
        sign.swapcase() if flip else sign for sign, flip in zip(name, flips, strict=False)
    )
    assert known_options(kind, {typed: value_of(name)}) == {name: value_of(name)}


@pytest.mark.parametrize("name", ["thousands", "sheet", "skip_rows"])
def test_tables_of_a_catalog_have_other_options_but_not_those_of_this_package(name: str) -> None:
    assert Input(path="x", format="table", options={"branch": "b"}).options == {"branch": "b"}
    with pytest.raises(ConfigurationError, match=rf"options: {name} is no option of format table"):
        Input(path="x", format="table", options={name: "1"})


@pytest.mark.parametrize(
    ("kind", "given", "why"),
    [
        ("csv", {"dateFormat": "yyyy"}, "dateFormat needs inferSchema: true"),
        ("csv", {"sep": ";", "delimiter": ","}, "sep and delimiter are the same option"),
        ("csv", {"encoding": "x", "charset": "y"}, "encoding and charset are the same option"),
        ("csv", {"Header": "true", "header": "false"}, "header is there twice, but for case"),
        (
            "delta",
            {"versionAsOf": "main"},
            "versionAsOf is 'main'; expected the number of a version",
        ),
        ("excel", {"header": "yes"}, "header is 'yes'; expected true or false"),
    ],
)
def test_an_option_that_would_change_nothing_is_refused(
    kind: Any,
    given: dict[str, str],
    why: str,
) -> None:
    with pytest.raises(ConfigurationError, match=why):
        Input(path="x", format=kind, options=given)


def test_options_of_a_command_line_are_named_as_they_are_typed(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").touch()
    with pytest.raises(
        ConfigurationError,
        match=r"^--option sep is no option of format excel; expected one of sheet,",
    ):
        source_of(str(tmp_path / "a.xlsx"), None, {"sep": ";"})
