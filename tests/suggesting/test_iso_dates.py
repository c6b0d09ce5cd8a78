"""Dates that a hierarchy is built of are recognised: all of the calendar, and nothing else."""

import re
from calendar import monthrange
from datetime import date

import pytest

from tclose_spark.table.columns.patterns import ISO_DATE


@pytest.mark.parametrize("year", [1600, 1900, 1960, 1996, 2000, 2004, 2023, 2024, 2100])
def test_every_day_of_a_year_is_a_date_and_no_other(year: int):
    for month in range(0, 14):
        for day in range(0, 33):
            real = 1 <= month <= 12 and 1 <= day <= monthrange(year, month)[1]
            assert bool(re.fullmatch(ISO_DATE, f"{year:04d}-{month:02d}-{day:02d}")) == real


def test_leap_days_are_those_of_the_calendar():
    for year in range(1, 10_000):
        leap = monthrange(year, 2)[1] == 29
        assert bool(re.fullmatch(ISO_DATE, f"{year:04d}-02-29")) == leap
        assert re.fullmatch(ISO_DATE, date(year, 2, 28).isoformat())
