"""The size of a class: k rows, or k people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tclose_spark.requirements.criterion import Criterion, Guarantee
from tclose_spark.requirements.expectation import Expectation, expect_at_least, expect_present
from tclose_spark.requirements.words import Entry, GuaranteeRow, achieved_text, at_least
from tclose_spark.table.writing import number


@dataclass(frozen=True)
class SizeJudge:
    """k records of each class, or people. k: None if it is measured only. of: what is counted."""

    k: int | None
    of: Literal["records", "people"] = "records"

    @property
    def column(self) -> str:
        """Of the class table."""
        return "size" if self.of == "records" else self.of

    def criterion(self, suffix: str = "") -> Criterion:
        """The criterion of every class. suffix: ends the name of its measure."""
        broken = None if self.k is None else (self.column, self.k)
        return Criterion(
            measure=f"k-anonymity{suffix}",
            attribute=None,
            required=self.k,
            figure=self.column,
            broken=broken,
        )

    def expectations(self) -> list[Expectation]:
        """The requirement as expectations on the class table."""
        meaning = f"k-anonymity: every class has at least {self.k or 1} {self.of}"
        return [expect_present(self.column), expect_at_least(self.column, self.k or 1, meaning)]


def size_rows(k: Entry) -> Iterator[GuaranteeRow]:
    """The rows of the report: of people and households if they are counted, and of records. k: of
    the certificate.
    """
    counted: dict[str, Entry] = {}
    if "over_people" in k:
        counted["people"] = {**k, **k["over_people"]}
    if "over_households" in k:
        counted["households"] = k["over_households"]
    for of, figure in {**counted, "rows": k}.items():
        meaning = f"{of} in the smallest class"
        if figure["required"] is None:
            yield GuaranteeRow(
                name="k-anonymity",
                attribute="",
                meaning=meaning,
                required="nothing",
                achieved=number(figure["achieved"]),
                met=None,
            )
        else:
            yield at_least(
                "k-anonymity",
                "",
                meaning,
                figure,
                figure["achieved"] >= figure["required"],
            )


def size_line(k: Entry) -> tuple[str, str]:
    """(name, figures) for the console."""
    of = k.get("over_households")
    if of is None:
        households = ""
    elif of["required"] is None:
        households = f"; households not requested, achieved {of['achieved']}"
    else:
        households = f"; households requested {of['required']}, achieved {of['achieved']}"
    return "k", f"requested {k['required']}, achieved {achieved_text(k)}{households}"


def size_violation(broken: Guarantee, classes: str, over: str) -> str:
    """A line on classes that are too small. over: " over people", if they are counted."""
    who = " people" if over else ""
    return (
        f"{classes} are smaller than k = {broken.required}{who}; the smallest has "
        f"{broken.achieved}{who}"
    )
