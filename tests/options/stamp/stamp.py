"""An option that another package brings: a column with one text in every row of the release."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from tclose_spark.requirements.figures import Figures, OptionFigures
from tclose_spark.runfile.brought import BroughtOption, BroughtSettings
from tclose_spark.runfile.spec import ReleaseSpec

COLUMN = "stamp"


class Stamp(BroughtSettings):
    """Its section of a run file."""

    key: ClassVar[str] = "stamp"
    text: str
    """The text."""


@dataclass(frozen=True)
class StampFigures(OptionFigures):
    """stamped: rows with the text."""

    stamped: int


def text_of(spec: ReleaseSpec) -> str:
    """The text that a run file requires."""
    return next(one.text for one in spec.brought if isinstance(one, Stamp))


def words(spec: ReleaseSpec, figures: Figures) -> dict[str, Any]:
    """What the certificate has of it."""
    return {"stamp": {"text": text_of(spec), "rows": figures.of(StampFigures).stamped}}


OPTION = BroughtOption(
    settings=Stamp,
    parts={
        "maker": "stamp_maker:StampMaker",
        "judge": "stamp_judge:StampJudge",
        "words": "stamp:words",
    },
)
