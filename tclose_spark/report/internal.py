"""The internal report: figures of the raw table, and the run that made the release."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TypedDict

from tclose_spark.io.run_state import AnonymizeRecord, PlanFigures, ProfileRecord, RunState
from tclose_spark.report.certificate.sections import Certificate, CertifiedSubjects
from tclose_spark.report.html import first_page
from tclose_spark.report.mechanism import Mechanism
from tclose_spark.report.option_words import words_in
from tclose_spark.report.page import render
from tclose_spark.report.plots import lines
from tclose_spark.report.sections import PlotSection, precision_of
from tclose_spark.requirements.figures import Figures
from tclose_spark.runfile.suggested import Change
from tclose_spark.table.writing import number

PACKAGES = (
    "tclose-spark",
    "pyspark",
    "delta-spark",
    "great-expectations",
    "numba",
    "numpy",
    "pyarrow",
    "scikit-learn",
)
MOST_LINES = 12  # values that the mechanism reveals
MOST_ASSOCIATIONS = 24


class GroupFigures(TypedDict):
    """What an adversary learns from the raw table: see `RawGroups`."""

    people: int
    alone: float
    few: float
    chance: float
    certain: Mapping[str, float]
    guess: Mapping[str, float]


class Association(TypedDict):
    """Cramér's V of a quasi-identifier with a sensitive attribute, raw and released. moved: the
    share of rows in another cell.
    """

    quasi: str
    sensitive: str
    raw: float
    released: float
    moved: float


class RawFigures(TypedDict):
    """The raw table beside the release: see `RawVersusReleased`. Values that only templates read are typed
    as objects.
    """

    rows: int
    suppressed: int
    whole: int
    worth: Mapping[str, float]
    target: str | None
    why_no_classifier: str
    groups: GroupFigures | None
    uniques: object
    cells: object
    linkage: object
    means: Sequence[object]
    associations: Sequence[Association]
    tables: Sequence[object]


@dataclass(frozen=True, kw_only=True)
class MadeBy:
    """The run that made a release.

    state: what it recorded. plan: its report.
    versions: of Python and packages.
    notes: warnings by internal figures.
    suggested: changes after a suggestion, None without one.
    minimality: what the mechanism reveals.
    totals: of the raw weights, by sensitive attribute.
    """

    state: RunState
    plan: PlanFigures
    versions: Mapping[str, str]
    notes: Sequence[str]
    suggested: Sequence[Change] | None
    minimality: Mechanism
    totals: Mapping[str, object]


def render_internal(
    certificate: Certificate,
    figures: Figures,
    raw: RawFigures | None,
    made: MadeBy,
) -> str:
    """The internal page of a release.

    figures: the verifier's. raw: None if no rows could be drawn.
    """
    state = made.state
    minimality = made.minimality
    profiled = state.of(ProfileRecord)
    subjects = CertifiedSubjects(
        rows_are_persons=certificate.subjects is not None and certificate.subjects.rows_are_persons,
        notes=list(profiled.subjects.internal),
    )
    return render(
        "internal.html.j2",
        **{**first_page(certificate), "subjects": subjects},
        raw=raw,
        notes=made.notes,
        suggested=made.suggested,
        uniques=raw["uniques"] if raw else None,
        cells=raw["cells"] if raw else None,
        linkage=raw["linkage"] if raw else None,
        precision=[
            precision_of(name, bins) for name, bins in figures.spreads.get("precision", {}).items()
        ],
        by_input=figures.by_input,
        attacks=list(_attacks(certificate, figures, raw)),
        minimality=minimality,
        raw_totals=made.totals,
        totals=_published_totals(certificate, figures),
        cuts=minimality.refused_cuts,
        revealed=minimality.beyond_chance[:MOST_LINES],
        associations=_associations(raw["associations"]) if raw and raw["associations"] else None,
        source=profiled.input,
        configuration=state.configuration,
        plan=made.plan,
        work=state.of(AnonymizeRecord).method,
        seconds=[(name, record.seconds) for name, record in state.done.items()],
        versions=made.versions,
        against=certificate.whole,
    )


def _published_totals(certificate: Certificate, figures: Figures) -> object:
    """The sums of the published weights by sensitive attribute; None without them."""
    every = (words.sections(certificate, figures) for words in words_in(certificate))
    return next((found["totals"] for found in every if found.get("totals")), None)


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that make a release."""
    found = {"Python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "not installed"
    return found


def _attacks(
    certificate: Certificate,
    figures: Figures,
    raw: RawFigures | None,
) -> Iterator[tuple[str, float | None, float]]:
    """(what an adversary learns, its share in the raw table, and in the release). In the raw table
    the adversary looks for the rows that have a person's quasi-identifiers.
    """
    groups = raw["groups"] if raw else None
    rows = certificate.release.rows
    classes = certificate.release.classes
    k = certificate.guarantees.k.required
    if certificate.release.group is None:  # exact quasi-identifiers are as in the raw table
        yield "rows that are alone with their quasi-identifiers", groups and groups["alone"], 0.0
        yield f"rows in groups of fewer than {number(k)} rows", groups and groups["few"], 0.0
        yield (
            "chance to pick a person's row, on average",
            groups and groups["chance"],
            classes / rows,
        )
    for name, entry in certificate.attributes.sensitive.items():
        certain = entry.homogeneous.rows / rows
        guessed = figures.guessed[name]
        yield f"rows for which {name} is certain", groups and groups["certain"][name], certain
        yield (
            f"rows whose {name} the best guess gets right, on average",
            groups and groups["guess"][name],
            guessed,
        )


def _associations(found: Sequence[Association]) -> PlotSection:
    several = len({one["sensitive"] for one in found}) > 1
    shown = sorted(found, key=lambda one: -one["raw"])[:MOST_ASSOCIATIONS]
    svg = lines(
        [f"{one['quasi']}, {one['sensitive']}" if several else one["quasi"] for one in shown],
        [
            ("raw", [one["raw"] for one in shown]),
            ("released", [one["released"] for one in shown]),
        ],
        description="Cramér's V of each quasi-identifier with each sensitive attribute, raw and released; "
        "the table lists the numbers",
        across="Cramér's V, 100%: full association",
    )
    return PlotSection(
        title="Association between columns",
        svg=svg,
        facts="Cramér's V of groups of values: 0 is no association, 1 a full one. An analyst of the "
        "release loses what classes even out.",
    )
