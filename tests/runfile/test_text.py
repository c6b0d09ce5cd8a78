"""Spellings that a reader takes for one value."""

import pytest

from tclose_spark.runfile.text import count_spellings, normal


@pytest.mark.parametrize("other", ["FLU", "flu ", " flu", "\uff46\uff4c\uff55", "Flu\u00a0"])
def test_another_spelling_of_a_value_is_counted(other: str) -> None:
    assert count_spellings(["flu", other, "gout", None]) == 1


def test_composed_and_decomposed_letters_are_one() -> None:
    assert count_spellings(["caf\u00e9", "cafe\u0301", "CAFE\u0301"]) == 2


def test_values_that_a_reader_tells_apart_are_not() -> None:
    assert count_spellings(["flu", "flue", "re\u0301", "r\u00e8", "1", "1.0", None]) == 0


@pytest.mark.parametrize(
    ("options", "made"),
    [
        ({}, ["Flü ", "FLU\u0308", " flü", "Straße", "  "]),
        ({"strip": True}, ["Flü", "FLU\u0308", "flü", "Straße", ""]),
        ({"fold": True}, ["flü ", "flu\u0308", " flü", "strasse", "  "]),
        ({"normal_form": "NFC"}, ["Flü ", "FLÜ", " flü", "Straße", "  "]),
        ({"normal_form": "NFC", "strip": True, "fold": True}, ["flü", "flü", "flü", "strasse", ""]),
    ],
)
def test_options_make_spellings_one_value(options, made):
    assert [
        normal(value, **options) for value in ("Flü ", "FLU\u0308", " flü", "Straße", "  ")
    ] == made
