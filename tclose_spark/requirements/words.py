"""The words of a requirement: its entry in the certificate, and from that its row in the report and
its line on the console; and its lines in verdicts and audits.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, TypedDict

from tclose_spark.requirements.criterion import Guarantee, Reached
from tclose_spark.runfile.attributes import SensitiveAttribute
from tclose_spark.table.writing import digits_apart, number

MARK = 100
BAR = 150
"""The width of a guarantee's bar up to the requirement, and in all."""


class Entry(TypedDict, total=False):
    """An entry of a certificate's guarantees, which has some of these keys.

    distance: its kind. required, required_exact: None if the figure is only measured.
    The exact ones are texts p/q. holds: as the verifier decided exactly.
    """

    distance: str
    required: Any
    required_exact: Any
    achieved: Any
    achieved_exact: str
    holds: bool
    over_people: Entry
    over_households: Entry


@dataclass(frozen=True, kw_only=True)
class GuaranteeRow:
    """A row of the table of guarantees.

    exact_required, exact_achieved: fractions, "" if the figures themselves are exact.
    bar: filled units of BAR, None if there is nothing to compare.
    met: None if nothing is required.
    """

    name: str
    attribute: str
    meaning: str
    required: str
    achieved: str
    met: bool | None
    bar: float | None = None
    exact_required: str = ""
    exact_achieved: str = ""


@dataclass(frozen=True, kw_only=True)
class Words:
    """The words of a requirement of a sensitive attribute.

    key, measure: see `Judge`.
    required: the bound by the settings; None without one.
    name, meaning: in the report. over_people: what it adds to the meaning over people.
    exact: whether the bound is one that no figure exceeds, compared as exact fractions. Otherwise
        figures reach it.
    section: of the certificate's guarantees. by_kind: whether attributes have several entries
        there, by key.
    of_distance: whether an entry names the kind of its distance.
    shown: what an entry has of figures that are not exact.
    always: whether the certificate has an entry without a bound, too.
    recorded: the key of the entry that the history of a line keeps; "" for none.
    least: the least figure that agrees with a bound.
    violated: how classes that break it are called, before what they count; by default that they
        have less of it.
    """

    key: str
    measure: str
    required: Callable[[SensitiveAttribute], Any]
    name: str
    meaning: str = ""
    over_people: str = ", over people"
    exact: bool = False
    section: str = ""
    by_kind: bool = False
    of_distance: bool = False
    shown: tuple[Literal["achieved", "holds"], ...] = ("achieved", "holds")
    always: bool = False
    recorded: Literal["required", "required_exact", ""] = ""
    least: Callable[[float], float] = float
    violated: Callable[[Guarantee, str], str] | None = None

    def entry(self, settings: SensitiveAttribute, reached: Reached) -> Entry:
        """The entry of the certificate."""
        entry: Entry = {**self.bound(self.required(settings)), **self._figure(reached)}
        return {"distance": settings.distance, **entry} if self.of_distance else entry

    def of_people(self, reached: Reached) -> Entry:
        """What the entry has of people, if they are counted."""
        if self.exact:  # the verifier compared each class
            return {"achieved": float(Fraction(reached["achieved"])), "holds": reached["holds"]}
        return self._figure(reached)

    def bound(self, required: Any) -> Entry:
        """What the certificate has of the bound."""
        if not self.exact:
            return {"required": required if isinstance(required, int) else float(required)}
        decimal, exact = (None, None) if required is None else (float(required), str(required))
        return {"required": decimal, "required_exact": exact}

    def _figure(self, reached: Reached) -> Entry:
        if self.exact:
            return {
                "achieved": float(Fraction(reached["achieved"])),
                "achieved_exact": str(reached["achieved"]),
            }
        shown: Entry = {}
        for key in self.shown:
            shown[key] = reached[key]
        return shown

    def row(self, attribute: str, entry: Entry, whole: str) -> GuaranteeRow:
        """The row of the report. whole: the table that classes are compared with, in words."""
        required = entry["required"]
        achieved = entry["achieved"]
        if not self.exact:
            met = entry.get("holds", True) and achieved >= self.least(required)
            return at_least(self.name, attribute, self.meaning, entry, met)
        row = GuaranteeRow(
            name=self.name,
            attribute=attribute,
            meaning=self.meaning,
            required="nothing",
            achieved=number(achieved, required),
            met=None,
            exact_achieved=entry["achieved_exact"],
        )
        if required is None:
            return row
        holds = entry.get(
            "holds",
            Fraction(entry["achieved_exact"]) <= Fraction(entry["required_exact"]),
        )
        most = f"at most {number(required, achieved)}"
        exact = entry["required_exact"]
        return replace(
            row,
            required=most,
            met=holds,
            bar=filled(required, achieved),
            exact_required=exact,
        )

    def row_of_people(self, attribute: str, entry: Entry, whole: str) -> GuaranteeRow:
        """The row over people."""
        row = self.row(attribute, {**entry, **entry["over_people"]}, whole)
        return replace(row, meaning=row.meaning + self.over_people, exact_achieved="")

    def line(self, attribute: str, entry: Entry) -> tuple[str, str]:
        """(name, figures) for the console."""
        name = f"{self.section} of {attribute}"
        if self.exact:
            return name, distances_text(entry)
        kind = f" ({self.key})" if self.by_kind else ""
        return f"{name}{kind}", f"requested {entry['required']}, achieved {achieved_text(entry)}"

    def violation(self, broken: Guarantee, classes: str, over: str) -> str:
        """A line on classes that break it. classes: these, in words. over: " over people", if they
        are counted.
        """
        if self.violated is not None:
            return f"{broken.attribute}: {classes} {self.violated(broken, over)}"
        less = (
            f"have less {broken.measure} than {broken.required}; the worst has "
            f"{broken.achieved:.6g}"
        )
        return f"{broken.attribute}: {classes} {less}"

    def is_stricter(self, settings: SensitiveAttribute, recorded: Any) -> bool:
        """Whether it requires more than the release of a history did. recorded: None if that
        required nothing.
        """
        required = self.required(settings)
        if self.exact:
            return required is not None and (not recorded or Fraction(recorded) > required)
        return bool(self.recorded) and float(required or 1) > (recorded or 1)


def filled(required: float, achieved: float) -> float:
    """The filled units of a bar that has the requirement at MARK."""
    if required == 0:
        return BAR if achieved else 0.0
    return round(min(BAR, MARK * float(achieved) / float(required)), 2)


def at_least(name: str, attribute: str, meaning: str, figure: Entry, met: bool) -> GuaranteeRow:
    """The row of a figure that must reach its requirement."""
    required = figure["required"]
    achieved = figure["achieved"]
    return GuaranteeRow(
        name=name,
        attribute=attribute,
        meaning=meaning,
        required=f"at least {number(required, achieved)}",
        achieved=number(achieved, required),
        met=met,
        bar=filled(required, achieved),
    )


def distances_text(entry: Mapping[str, Any]) -> str:
    """The required distance, if there is one, and the achieved one, with 6 digits, or with as many
    as it takes for them to differ. The one over people comes first, if `entry` has `over_people`.

    entry: has `required` and `achieved`.
    """
    required = entry["required"]
    counted = [entry["over_people"], entry] if "over_people" in entry else [entry]
    both = [one["achieved"] for one in counted]
    if required is None:
        return f"not requested, achieved {_over_both(both, '.6f')}"
    digits = max(digits_apart(one, required, 6) for one in both)
    requested = f"{required:.{digits}f}".rstrip("0").rstrip(".")
    return f"requested {requested}, achieved {_over_both(both, f'.{digits}f')}"


def achieved_text(entry: Entry) -> str:
    """What classes achieve, over people first if they are counted."""
    counted = [entry["over_people"], entry] if "over_people" in entry else [entry]
    return _over_both([one.get("achieved", "yes") for one in counted], "")


def _over_both(figures: Sequence[object], form: str) -> str:
    *of_people, of_rows = [format(figure, form) for figure in figures]
    return f"{of_people[0]} over people, {of_rows} over rows" if of_people else of_rows
