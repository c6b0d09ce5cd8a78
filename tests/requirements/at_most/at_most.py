"""A requirement that another package brings: at most so many rows of a class have one value."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
import pyarrow as pa
from pydantic import Field

from tclose_spark.measures.distances.histograms import Histograms
from tclose_spark.requirements.judge import Bound, Judge, JudgedAttribute, bounded
from tclose_spark.requirements.planning import Cap, Needs
from tclose_spark.requirements.words import Words
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.runfile.brought import BroughtRequirement, BroughtSettings
from tclose_spark.table.domains import SensitiveDomain

MEASURE = "rows of one value"


class AtMost(BroughtSettings):
    """Its section of a run file."""

    key: ClassVar[str] = "at_most"
    value: str
    """The value."""
    rows: Annotated[int, Field(ge=1)]
    """The most rows of a class that may have it."""


def needs(settings: AtMost, domain: SensitiveDomain) -> Needs:
    """Small classes have few rows of a value that is at most twice as frequent in them as in the
    table.
    """
    cap = Cap(
        share=Fraction(2),
        key="at_most",
        asked=f"{settings.rows} rows",
        of_table=True,
        at=domain.values.index(settings.value),
    )
    return Needs(caps=(cap,))


def judge(settings: AtMost, a: JudgedAttribute) -> Judge:
    """`at_most_`: the rows with the value, as a double to read. `exact_at_most_`: how many more
    there may be.
    """
    code = a.values.index(settings.value)

    def rows(classes: Histograms) -> Any:
        return np.add.reduceat(np.where(classes.values == code, classes.counts, 0), classes.starts)

    bound = Bound(
        required=settings.rows,
        margins=lambda classes: settings.rows - rows(classes),
        kind=pa.int64(),
        meaning=f"{MEASURE} of {a.name}: at most {settings.rows} in every class",
    )
    return bounded(
        a,
        "at_most",
        MEASURE,
        lambda classes: rows(classes).astype(np.float64),
        bound,
        largest=True,
    )


def required(settings: SensitiveAttribute) -> int | None:
    """The rows by the settings of an attribute."""
    return next((one.rows for one in settings.brought if isinstance(one, AtMost)), None)


REQUIREMENT = BroughtRequirement(
    settings=AtMost,
    needs=needs,
    judge=judge,
    words=Words(
        key="at_most",
        measure=MEASURE,
        required=required,
        name="At most so many rows of one value",
        meaning="most rows of a class with the value that the run file names",
        exact=True,
        section="at_most",
        violated=lambda g, over: (
            f"have more than {g.required} rows with the value of at_most{over}; the worst has "
            f"{g.achieved:.0f}"
        ),
    ),
)
