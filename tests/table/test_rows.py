"""Rows as codes and as binary values: what goes in comes out."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, content, drawn, make_problem, people

from tclose_spark.table.arrays import HashArray
from tclose_spark.table.dictionaries import decoded
from tclose_spark.table.domains import Profile, QuasiDomain, SensitiveDomain
from tclose_spark.table.labels import MISSING
from tclose_spark.table.rows import Codec, Rows, UnknownValueError

SEX = QuasiDomain(name="sex", kind="category", missing=1, values=("female", "male"), present=2)
AGE = QuasiDomain(name="age", kind="integer", missing=1, low=0, high=99)
WEIGHT = QuasiDomain(name="weight", kind="double", missing=1, low=0, high=99)
M = int(MISSING)


def codec_of(
    quasi: list[QuasiDomain],
    *sensitive: tuple[str | None, ...],
    cells: list[tuple[int, ...]] | None = None,
) -> Codec:
    """The codec of these domains; without cells, one for each value of the only sensitive
    attribute.
    """
    cells = [(code,) for code in range(len(sensitive[0]))] if cells is None else cells
    attributes = tuple(
        SensitiveDomain(f"s{i}", values, (1,) * len(values)) for i, values in enumerate(sensitive)
    )
    return Codec.of(
        Profile(
            rows=len(cells),
            quasi=tuple(quasi),
            sensitive=attributes,
            cells=tuple(cells),
            cell_counts=(1,) * len(cells),
            distinct_rows=len(cells),
            fingerprint="",
            version=None,
            repeated=(),
        ),
    )


def hashes(n: int) -> HashArray:
    return np.arange(n, dtype=np.uint64) - np.uint64(1)


def test_encodes_values_as_places_and_numbers():
    codec = codec_of([SEX, AGE, WEIGHT], ("flu", "gout", None))
    quasi = [
        pa.array(["male", None, "female"]),
        pa.array([30, None, -2]),
        pa.array([1.0, None, -0.0]),
    ]
    rows = codec.encode(quasi, [pa.array([None, "gout", "flu"])], hashes(3))
    assert rows.quasi[0].tolist() == [1, M, 0]
    assert rows.quasi[1].tolist() == [30, M, -2]
    assert rows.quasi[2].tolist() == [np.float64(1).view(np.int64), M, 0]
    assert (rows.cell.tolist(), rows.hash.tolist()) == ([2, 1, 0], [2**64 - 1, 0, 1])


def test_decodes_to_the_prepared_columns():
    codec = codec_of([SEX, AGE, WEIGHT], ("flu", "gout"))
    quasi = [
        pa.array(["male", None, "female"]),
        pa.array([30, None, -2]),
        pa.array([1.5, None, 0.0]),
    ]
    rows = codec.encode(quasi, [pa.array(["gout", "gout", "flu"])], hashes(3))
    assert [column.to_pylist() for column in codec.decode(rows)] == [
        column.to_pylist() for column in quasi
    ]
    assert [decoded(column).type for column in codec.decode(rows)] == [
        pa.string(),
        pa.int64(),
        pa.float64(),
    ]
    assert [column.to_pylist() for column in codec.sensitive_texts(rows)] == [
        ["gout", "gout", "flu"],
    ]


def test_several_sensitive_attributes_share_a_cell():
    codec = codec_of([AGE], ("flu", "gout"), ("low", "mid", None), cells=[(0, 1), (0, 2), (1, 0)])
    sensitive = [pa.array(["gout", "flu", "flu"]), pa.array(["low", None, "mid"])]
    rows = codec.encode([pa.array([1, 2, 3])], sensitive, hashes(3))
    assert rows.cell.tolist() == [2, 1, 0]
    assert [column.to_pylist() for column in codec.sensitive_texts(rows)] == [
        column.to_pylist() for column in sensitive
    ]


@pytest.mark.parametrize("attributes", [22, 70])
def test_many_sensitive_attributes_share_a_cell(attributes):
    values = tuple(str(i) for i in range(8))
    cells = sorted(
        {
            tuple(row)
            for row in np.random.default_rng(attributes).integers(0, 8, (50, attributes)).tolist()
        },
    )
    codec = codec_of([AGE], *[values] * attributes, cells=cells)
    sensitive = [pa.array([values[cell[i]] for cell in cells]) for i in range(attributes)]
    assert codec.encode(
        [pa.array([1] * len(cells))],
        sensitive,
        hashes(len(cells)),
    ).cell.tolist() == list(range(len(cells)))


@pytest.mark.parametrize(
    ("sex", "sensitive"),
    [
        ("diverse", ("flu", "low")),
        ("male", ("mumps", "low")),
        ("male", (None, "low")),
        ("male", ("gout", "mid")),
    ],
    ids=["category", "sensitive value", "missing sensitive value", "tuple of known values"],
)
def test_a_value_that_the_profile_does_not_have_is_refused(sex, sensitive):
    codec = codec_of([SEX], ("flu", "gout"), ("low", "mid"), cells=[(0, 0), (0, 1), (1, 0)])
    with pytest.raises(UnknownValueError):
        codec.encode(
            [pa.array([sex])],
            [pa.array([value], pa.string()) for value in sensitive],
            hashes(1),
        )


def test_a_value_of_the_only_attribute_that_the_profile_does_not_have_is_refused():
    with pytest.raises(UnknownValueError):
        codec_of([AGE], ("flu", "gout")).encode([pa.array([1])], [pa.array(["mumps"])], hashes(1))


def test_a_value_of_the_domain_that_no_row_has_is_refused():
    codec = codec_of([AGE], ("flu", "gout", "mumps"), cells=[(0,), (2,)])
    assert codec.encode(
        [pa.array([1, 2])],
        [pa.array(["mumps", "flu"])],
        hashes(2),
    ).cell.tolist() == [1, 0]
    with pytest.raises(UnknownValueError):
        codec.encode([pa.array([1])], [pa.array(["gout"])], hashes(1))


def test_a_part_of_an_array_is_encoded_as_itself():
    codec = codec_of([SEX, AGE, WEIGHT], ("flu", "gout"))
    columns = [
        pa.array(["male", None, "female", "male"]),
        pa.array([30, None, 1, 2]),
        pa.array([1.5, None, 0.0, 2.0]),
    ]
    sensitive, hashed = pa.array(["gout", "flu", "gout", "flu"]), hashes(4)
    whole = codec.encode(columns, [sensitive], hashed)
    part = codec.encode(
        [column.slice(1, 2) for column in columns],
        [sensitive.slice(1, 2)],
        hashed[1:3],
    )
    assert_same(part, whole.take(np.array([1, 2])))


def assert_same(rows: Rows, others: Rows) -> None:
    for one, other in zip(
        (*rows.quasi, rows.cell, rows.hash),
        (*others.quasi, others.cell, others.hash),
        strict=True,
    ):
        assert one.dtype == other.dtype
        assert one.tolist() == other.tolist()


@st.composite
def coded_rows(draw: st.DrawFn) -> tuple[Codec, Rows]:
    """Rows of any codes; a category may be narrow or too large for 16 bits."""
    large = draw(st.sampled_from([1, 2, 2**15 - 1, 2**15, 40_000]))
    codec = codec_of(
        [
            QuasiDomain(
                name="zip",
                kind="category",
                missing=0,
                values=tuple(map(str, range(large))),
                present=large,
            ),
            AGE,
            WEIGHT,
        ],
        ("a", "b", "c"),
    )
    n = draw(st.integers(0, 8))
    places, numbers = st.just(M) | st.integers(0, large - 1), st.integers(M, 2**63 - 1)
    quasi = [
        np.array(draw(st.lists(codes, min_size=n, max_size=n)), dtype=np.int64)
        for codes in (places, numbers, numbers)
    ]
    cell = np.array(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=np.int64)
    hashed = np.array(
        draw(st.lists(st.integers(0, 2**64 - 1), min_size=n, max_size=n)),
        dtype=np.uint64,
    )
    return codec, Rows(tuple(quasi), cell, hashed)


@drawn(60)
@given(coded_rows(), st.data())
def test_packed_rows_are_unpacked_as_they_were(case, data):
    codec, rows = case
    packed = codec.pack(rows)
    assert_same(codec.unpack(packed.tobytes()), rows)
    first = data.draw(st.integers(0, len(rows)))
    last = data.draw(st.integers(first, len(rows)))
    assert_same(codec.unpack(packed[first:last].tobytes()), rows.take(np.arange(first, last)))
    order = np.array(data.draw(st.permutations(range(len(rows)))), dtype=np.int64)
    assert_same(codec.unpack(packed[order].tobytes()), rows.take(order))


@pytest.mark.parametrize(("categories", "bytes_a_row"), [(100, 14), (2**15 - 1, 14), (2**15, 20)])
def test_a_category_takes_two_bytes_where_it_fits(categories, bytes_a_row):
    codec = codec_of(
        [
            QuasiDomain(
                name="zip",
                kind="category",
                missing=0,
                values=tuple(map(str, range(categories))),
                present=categories,
            ),
        ],
        ("a",),
    )
    codes = np.array([categories - 1, M, 0])
    rows = Rows((codes,), np.zeros(3, dtype=np.int64), np.zeros(3, dtype=np.uint64))
    assert codec.pack(rows).itemsize == bytes_a_row
    assert codec.unpack(codec.pack(rows)).quasi[0].tolist() == codes.tolist()


@drawn(50)
@given(people(least=1))
def test_records_come_back_from_their_codes(records):
    problem, rows = make_problem(records, {"disease": {}, "grade": {"distance": "ordered"}})
    codec = Codec.of(problem.profile)
    decoded = [column.to_pylist() for column in codec.decode(codec.unpack(codec.pack(rows)))]
    assert decoded == [[record[name] for record in records] for name in ("age", "sex", "city")]
    assert all(
        code == M or CITIES.leaves[code] == record["city"]
        for code, record in zip(rows.quasi[2], records, strict=True)
    )
    texts = [column.to_pylist() for column in codec.sensitive_texts(rows)]
    assert texts == [
        [record["disease"] for record in records],
        [str(record["grade"]) for record in records],
    ]


@drawn(30)
@given(people(least=1), st.data())
def test_the_order_by_hash_is_by_content(records, data):
    _, rows = make_problem(records, {"disease": {}})
    permuted = rows.take(np.array(data.draw(st.permutations(range(len(rows))))))
    one, other = rows.take(rows.sorted_by_hash()), permuted.take(permuted.sorted_by_hash())
    assert_same(one, other)
    assert (one.hash[1:] >= one.hash[:-1]).all()
    assert content(one) == content(rows)
