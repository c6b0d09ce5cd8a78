"""Raw values in the form in which the pipeline works on them, by the types of the run file.

Texts and numbers are those that Spark's casts make, in UTC and without ANSI mode, so a table has
the same values on every engine. Work is done once per distinct value of a batch where it is not
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute, Text
from tclose_spark.runfile.quantities import (
    CODES_A_DAY,
    EPOCH,
    FIRST,
    LAST,
    MICROSECOND,
    Calendar,
    read_form,
    write_moment,
)
from tclose_spark.table.hierarchies.hierarchy import WHOLE
from tclose_spark.table.writing import write_number

NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$"
MOMENTS: dict[Calendar, str] = {
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[T ]([01]\d|2[0-3]):[0-5]\d"
    r"(:[0-5]\d(\.\d{1,6})?(Z|[+-]((0\d|1[0-7]):[0-5]\d|18:00))?)?$",
}
"""The texts that are read as numbers, dates and times. A line end after them counts for nothing."""
EXAMPLE = datetime(2024, 2, 29, 12)
DIGITS = 15
"""A double has a number of at most this many digits exactly."""
BoolArray = NDArray[np.bool_]


def plain(values: pa.Array) -> pa.Array:
    """A column with one form for every value: NaN as missing, and -0.0 as 0.0."""
    if not pa.types.is_floating(values.type):
        return values
    return pc.add(pc.if_else(pc.is_nan(values), None, values), pa.scalar(0.0, values.type))


def as_text(values: pa.Array) -> pa.Array:
    """The values as texts: a double as Java writes it, a time without a zone and without zeros at
    its end.

    >>> as_text(pa.array([1.0, 1e10, None])).to_pylist(), as_text(pa.array([True])).to_pylist()
    (['1.0', '1.0E10', None], ['true'])
    """
    kind = values.type
    if pa.types.is_floating(kind):
        return _once(values, _float_texts)
    if pa.types.is_temporal(kind):
        return _once(values, _moment_texts)
    if pa.types.is_binary(kind):
        return _written(values, partial(bytes.decode, errors="replace"))
    return values.cast(pa.string())


def judged_values(values: pa.Array, settings: QuasiIdentifier | SensitiveAttribute) -> pa.Array:
    """A quasi-identifier or sensitive attribute with one form for every value.

    A numeric quasi-identifier is an int64 or a double. Text that is not a number becomes missing,
    and a float is the number of its shortest text, so 0.3 stays 0.3. Dates are days and times
    microseconds since 1970. A categorical one, or one with a hierarchy, is a text. With a hierarchy
    file, type: numeric makes 25.0 the leaf 25. A sensitive attribute keeps its type. Texts that a
    column's options merge are equal from here on.
    """
    values = plain(values)
    if settings.text is not None and settings.text != Text() and pa.types.is_string(values.type):
        values = _written(values, settings.text.of)
    if isinstance(settings, SensitiveAttribute):
        return values
    if settings.calendar is not None:
        write = partial(write_moment, calendar=settings.calendar)
        values = _moment_codes(values, settings.calendar, settings.date_format)
        return values if settings.is_numeric else _written(values, write)
    if not settings.reads_numbers:
        texts = as_text(values)
        return (
            pc.replace_substring_regex(texts, WHOLE, r"\1") if settings.type == "numeric" else texts
        )
    return _numbers(values) if settings.is_numeric else _written(_numbers(values), write_number)


def no_value(settings: QuasiIdentifier) -> str:
    """What a message calls values that do not have the type of a quasi-identifier.

    >>> no_value(QuasiIdentifier(type="date", date_format="%d.%m.%Y"))
    'no date (such as 29.02.2024) of the years 1 to 9999'
    """
    if settings.calendar is None:
        return f"no finite number of at most {DIGITS} digits"
    what, form = {"date": ("date", "%Y-%m-%d"), "timestamp": ("time", "%Y-%m-%dT%H:%M:%S")}[
        settings.calendar
    ]
    return (
        f"no {what} (such as {EXAMPLE.strftime(settings.date_format or form)}) of the years 1 to "
        "9999"
    )


def not_of_type(values: pa.Array, settings: QuasiIdentifier) -> BoolArray:
    """Whether values do not have the type that the run file declares for a quasi-identifier (see
    `no_value`), shape (n,). Missing values have it.
    """
    if settings.calendar is None:
        return _not_numbers(values)
    a_day = CODES_A_DAY["timestamp"] // CODES_A_DAY[settings.calendar]
    codes = _moment_codes(values, settings.calendar, settings.date_format)
    known = pc.and_(
        pc.greater_equal(codes, -(-FIRST // a_day)),
        pc.less_equal(codes, LAST // a_day),
    )
    return _bools(values.is_valid()) & ~_bools(known)


def iso_text(text: str, settings: QuasiIdentifier) -> str:
    """A date or time of the form of the run file as ISO text; any other text as it is.

    >>> iso_text("29.02.2024", QuasiIdentifier(type="date", date_format="%d.%m.%Y"))
    '2024-02-29'
    """
    if settings.calendar is None or settings.date_format is None:
        return text
    code = _read_moment(text, settings.calendar, settings.date_format)
    return text if code is None else write_moment(code, settings.calendar)


def is_damaged(texts: pa.Array) -> BoolArray:
    """Whether texts may come from undecodable bytes: they hold U+FFFD or NUL. Shape (n,)."""
    return _bools(pc.or_(pc.match_substring(texts, "\ufffd"), pc.match_substring(texts, "\0")))


def _numbers(values: pa.Array) -> pa.Array:
    """Numbers as int64 or doubles. Text that is no number becomes missing."""
    kind = values.type
    if pa.types.is_integer(kind):
        return values.cast(pa.int64())
    if pa.types.is_string(kind):
        return _once(values, lambda texts: _made(_matching(texts, NUMBER), float, pa.float64()))
    if pa.types.is_float32(kind) or pa.types.is_decimal(kind):
        return _once(values, lambda distinct: _made(as_text(distinct), float, pa.float64()))
    return values.cast(pa.float64())


def _not_numbers(values: pa.Array) -> BoolArray:
    """Whether values are not finite numbers of at most DIGITS digits."""
    kind = values.type
    if pa.types.is_string(kind):
        return _bools(_once(values, _no_number_texts))
    if pa.types.is_decimal(kind):
        if kind.precision <= DIGITS:
            return np.zeros(len(values), dtype=bool)
        return _bools(_once(values, lambda distinct: _made(distinct, _loses_digits, pa.bool_())))
    if pa.types.is_floating(kind):
        return _bools(pc.is_inf(values))
    # Stands for a missing value in codes.
    return _bools(pc.equal(values.cast(pa.int64()), -(2**63)))


def _no_number_texts(texts: pa.Array) -> pa.Array:
    """Whether texts are no finite numbers of at most DIGITS digits."""
    numbers = _matching(texts, NUMBER)
    digits = pc.replace_substring_regex(
        pc.replace_substring_regex(numbers, "[eE].*", ""),
        "^0+",
        "",
    )
    few = pc.less_equal(pc.utf8_length(pc.replace_substring_regex(digits, "[^0-9]", "")), DIGITS)
    finite = pc.is_finite(_made(numbers, float, pa.float64()))
    return pc.and_(texts.is_valid(), pc.invert(pc.fill_null(pc.and_(few, finite), False)))


def _loses_digits(number: Decimal) -> bool:
    """Whether a double does not have a number's digits."""
    return Decimal(repr(float(number))) != number


def _matching(texts: pa.Array, pattern: str) -> pa.Array:
    """The texts that match, without their line end; others become missing."""
    lines = pc.replace_substring_regex(texts, r"(\r\n|\n|\r)$", "")
    return pc.if_else(pc.match_substring_regex(lines, pattern), lines, pa.scalar(None, pa.string()))


def _moment_codes(values: pa.Array, calendar: Calendar, form: str | None) -> pa.Array:
    """Dates as days, times as microseconds since 1970. Text that is neither becomes missing. form:
    of texts, or ISO.
    """
    if form is not None and pa.types.is_integer(values.type):
        values = as_text(values)
    if pa.types.is_string(values.type):
        read = partial(_read_moment, calendar=calendar, form=form)
        iso = form is None
        return _once(
            values,
            lambda texts: _made(
                _matching(texts, MOMENTS[calendar]) if iso else texts,
                read,
                pa.int64(),
            ),
        )
    return _codes(values.cast(pa.date32() if calendar == "date" else pa.timestamp("us")))


def _codes(moments: pa.Array) -> pa.Array:
    """Dates as days, times as microseconds since 1970."""
    return moments.cast(pa.int32() if pa.types.is_date32(moments.type) else pa.int64()).cast(
        pa.int64(),
    )


def _read_moment(text: str, calendar: Calendar, form: str | None) -> int | None:
    """The code of a text of MOMENTS, or of this form; None of a day that does not exist."""
    try:
        moment = datetime.fromisoformat(text) if form is None else read_form(text, form)
    except ValueError:
        return None
    past = moment.replace(tzinfo=None) - EPOCH - (moment.utcoffset() or timedelta(0))
    return past.days if calendar == "date" else past // MICROSECOND


def _moment_texts(moments: pa.Array) -> pa.Array:
    """Dates and times as texts. A year has a sign and more digits if it is not of 0 to 9999."""
    is_date = pa.types.is_date32(moments.type)
    whole = _codes(moments).to_numpy().astype("M8[D]" if is_date else "M8[us]")
    years = whole.astype("M8[Y]").astype(np.int64) + 1970
    texts = np.datetime_as_string(whole).astype(object)
    for i in np.flatnonzero((years < 0) | (years > 9999)):
        texts[i] = f"{years[i]:+05d}-{texts[i].split('-', 1 + (years[i] < 0))[-1]}"
    made = pc.replace_substring(pa.array(texts, pa.string()), "T", " ")
    return made if is_date else pc.utf8_rtrim(pc.utf8_rtrim(made, "0"), ".")


def _float_texts(numbers: pa.Array) -> pa.Array:
    """Floats or doubles as Java writes them: with an exponent from ten million and below a
    thousandth, and the shortest digits, but two at least.
    """

    def text_of(number: Any) -> str:
        size = abs(number)
        if 1e-3 <= size < 1e7 or size == 0:
            return np.format_float_positional(number, trim="0")
        if not np.isfinite(number):
            return "NaN" if np.isnan(number) else "Infinity" if number > 0 else "-Infinity"
        shortest: str = np.format_float_scientific(number, trim="0", exp_digits=1)
        mantissa, power = (
            f"{number:.1e}" if shortest.split("e")[0].endswith(".0") else shortest
        ).split("e")
        return f"{mantissa}E{int(power)}"

    return pa.array(map(text_of, numbers.to_numpy()), pa.string())


def _once(values: pa.Array, made: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """What a function makes of values, called with the distinct ones only. It tells 0.0 from
    -0.0.
    """
    held = values.dictionary_encode()
    return made(held.dictionary).take(held.indices)


def _made(
    values: pa.Array,
    function: Callable[[Any], Any],
    kind: pa.DataType | None = None,
) -> pa.Array:
    """What a function makes of each value that is not missing: texts, or values of this type."""
    made = [None if value is None else function(value) for value in values.to_pylist()]
    return pa.array(made, kind or pa.string())


def _written(values: pa.Array, write: Callable[[Any], str]) -> pa.Array:
    """The texts that a function makes of values."""
    return _once(values, lambda distinct: _made(distinct, write))


def _bools(values: pa.Array) -> BoolArray:
    """Truth values, with missing ones as false."""
    return np.asarray(values.fill_null(False).to_numpy(zero_copy_only=False), dtype=bool)
