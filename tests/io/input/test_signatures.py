"""What a file is by its first bytes."""

import gzip

import pytest

from tclose_spark.io.input.signatures import byte_order_mark, recognise

TEXT = "name,age,disease\nAnn,31,flu\n"


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16LE"),
        ("utf-16-be", "UTF-16BE"),
        ("utf-32", "UTF-32"),
    ],
)
def test_wide_text_is_recognised(encoding: str, told: str) -> None:
    for start in (TEXT.encode(encoding), gzip.compress(TEXT.encode(encoding))):
        assert (
            recognise(start, is_packed=True)
            == f"looks like {told}: set input.options.encoding: {told}"
        )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1"])
def test_other_text_is_not(encoding: str) -> None:
    assert recognise(f"ré{TEXT}".encode(encoding)) is None
    assert recognise(b"") is None


def test_a_byte_order_mark_is_found_in_a_compressed_file_too() -> None:
    assert byte_order_mark(gzip.compress(TEXT.encode("utf-8-sig"))) == "UTF-8"
    assert byte_order_mark(TEXT.encode()) is None


@pytest.mark.parametrize(
    ("start", "told"),
    [(b"PAR1\x15", "Parquet"), (b"PK\x03\x04", "zip"), (gzip.compress(b"a,b", mtime=0), "gzip")],
)
def test_files_of_other_kinds_are_recognised(start: bytes, told: str) -> None:
    assert told in str(recognise(start))
