"""The independent verifier: decides from the written files alone whether every requirement holds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tclose_spark.checks.atoms import JudgedLine, Line, judge_line
from tclose_spark.checks.classes.class_table import ClassMeasure, JudgedQuasi, class_table
from tclose_spark.checks.classes.figures import ClassFigures, class_figures
from tclose_spark.checks.classes.people import expect_people
from tclose_spark.checks.classes.population import PopulationRisks, measure_risks
from tclose_spark.checks.classes.suppressed import SuppressedRows, input_listing, suppressed_class
from tclose_spark.checks.classes.tallies import count_values
from tclose_spark.checks.classes.tuples import TupleCloseness, count_alone, growing_tuples, joint_attributes
from tclose_spark.checks.classes.weights import release_weights
from tclose_spark.checks.classes.worst import worst_classes
from tclose_spark.checks.forms import GROUP_OF_ROWS, FormedRows, WrittenTable, not_in_classes, read_formed
from tclose_spark.checks.labels.loss import (
    judged_quasi,
    losses_by_input,
    losses_without_far,
    measured_on,
    names_of_release,
    published_columns,
)
from tclose_spark.checks.labels.regions import MOST_COMPARED, are_disjoint
from tclose_spark.checks.problems import too_coarse, violation
from tclose_spark.checks.profiles.judge_profile import judge_profile
from tclose_spark.checks.profiles.profiled_release import NO_POPULATIONS, Populations
from tclose_spark.checks.pseudonyms import require_pseudonyms
from tclose_spark.checks.released import DamagedFileError, ReleasedRows, read_released
from tclose_spark.checks.released_people import ReleasedPeople, released_people
from tclose_spark.checks.supersets import (
    expect_supersets,
    find_supersets,
    near_supersets,
    without_t,
)
from tclose_spark.checks.validation import Validation, validate
from tclose_spark.checks.warnings import far_number_warnings, warnings_of
from tclose_spark.engine.protocol import Table
from tclose_spark.engine.tables import errors_of_tasks, keep, schema_of, write_and_read
from tclose_spark.errors import GuaranteeError, InputError
from tclose_spark.measures.distances.least import least_distance
from tclose_spark.measures.loss.information_loss import NoLabelError
from tclose_spark.requirements.criterion import OVER_PEOPLE
from tclose_spark.requirements.expectation import expect_rows
from tclose_spark.requirements.judge import JudgedAttribute, judged_attribute
from tclose_spark.requirements.registry import expectations_of, judges_of
from tclose_spark.requirements.supersets import unproven
from tclose_spark.runfile.attributes import EvenPlaces
from tclose_spark.runfile.population import THRESHOLD
from tclose_spark.runfile.release_form import GROUP
from tclose_spark.runfile.spec import Privacy, ReleaseSpec
from tclose_spark.table.columns.spark_types import type_name
from tclose_spark.table.domains import Counts, Profile, TupleCounts
from tclose_spark.table.fingerprint import Fingerprint
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.people import People
from tclose_spark.table.places import places_of
from tclose_spark.table.writing import listing


@dataclass(frozen=True)
class Evidence:
    """The fingerprints that the run recorded: of its input, of both sides of its write (see `table.fingerprint`), of
    `internal/people` if people are counted, and of the parts of raw rows that are published apart.
    """

    input: str
    raw: str
    published: str
    people: str | None = None
    projections: Mapping[str, str] = field(default_factory=dict)

    @property
    def suppressed(self) -> int:
        """How many rows were read and not published."""
        return Fingerprint.parse(self.raw).rows - Fingerprint.parse(self.published).rows


@dataclass(frozen=True)
class Verdict:
    """The result of a verification.

    problems: one line each; empty if every requirement holds.
    figures: those of the certificate, and under `by_input` those measured on the raw table, which stay internal.
    validation: the result of the Great Expectations suite.
    only_coarse: whether labels are coarser than `coarsest`, and nothing else is wrong.
    """

    problems: tuple[str, ...]
    figures: dict[str, Any]
    validation: Validation
    only_coarse: bool = False

    @property
    def holds(self) -> bool:
        """Whether every requirement holds."""
        return not self.problems


def verify_release(
    release: Table,
    folder: str,
    spec: ReleaseSpec,
    profile: Profile,
    hierarchies: Mapping[str, Hierarchy],
    evidence: Evidence,
    classes_path: str,
    people: Table | None = None,
    population: Table | None = None,
    populations: Populations = NO_POPULATIONS,
    line: Line | None = None,
    tables: Mapping[str, WrittenTable] | None = None,
) -> Verdict:
    """The verdict on a written release. Writes its class table to `classes_path`.

    folder: holds the release's files and no others.
    profile: the input's rows and values, with which the release must agree.
    people: `internal/people`, if people are counted.
    population: the people of the population, if the run file names a table of them.
    populations: by column of areas, the people of each area, if the run file's profile names them.
    line: the earlier releases that the release continues.
    tables: those of sensitive values by name, if they are not in the release (`release.form`, `release.together`).

    Raises:
        GuaranteeError: if the release cannot be judged: it is damaged, a column is missing or unexpected, or a
            published value is not a label.
    """
    names, form = list(spec.attributes.sensitive_attributes), spec.release
    fields = _columns_of(release, tables or {}, spec)
    require_pseudonyms(release, [*spec.attributes.pseudonym_names.values()])
    texts = [name for name, kind in fields.items() if pa.types.is_string(kind.type)]
    labels = form.key(column for columns in published_columns(spec).values() for column in columns)
    rows: ReleasedRows | FormedRows = (
        read_released(release, folder, labels, names)
        if form.is_plain
        else read_formed((release, folder), tables or {}, spec)
    )
    with _labels_required(), keep(rows.tallies) as tallies, released_people(people, labels, names) as whose:
        named = {} if form.is_exact else names_of_release(tallies, spec)
        quasi = [GROUP_OF_ROWS] if form.is_exact else judged_quasi(spec, named, hierarchies, spec.aggregates)
        counts, tuple_counts = count_values(tallies, list(spec.attributes.sensitive_attributes))
        if not any(counts):
            raise GuaranteeError("the release has no rows; nothing is published")
        released = rows.fingerprint
        left = SuppressedRows.of(evidence.suppressed, spec.privacy, profile, counts)
        attributes = _judged_attributes(texts, left.compared(counts), spec, hierarchies)
        tuples = growing_tuples(None if form.together else tuple_counts, attributes)
        judged = [*attributes, *_joint_attributes(tuple_counts, attributes, spec)]
        required = None if whose is None else whose.judged(judged, left.public)
        if whose is not None:
            whose.require_rows(released, evidence.people)
        more: list[ClassMeasure] = [*tuples, *([] if required is None else [required])]
        source = tallies if whose is None else whose.tallied.classes
        classes, notes = _class_table(source, quasi, judged, more, spec, classes_path)
        n = spec.privacy.n
        of_whole = judged if n is None else without_t(judged)  # required of the distance from the whole table
        near = [] if n is None else near_supersets(classes, attributes, n)
        by_input = [] if form.is_exact else losses_by_input(quasi, profile)
        without_far = [] if form.is_exact or spec.aggregates or left.rows else losses_without_far(quasi, profile)
        figures = class_figures(
            classes,
            spec.privacy.k,
            quasi,
            of_whole,
            suppressed=left.rows,
            more_losses=[*by_input, *without_far],
            more=[one.criterion for one in tuples],
            people=required,
        )
        left_class = None
        if left.public and not left.unexplained:
            left_class = suppressed_class(left, spec.privacy.k, attributes)
            if whose is not None and required is not None:
                left_class = whose.suppressed_class(spec.privacy.k, attributes, required)
        of_people = None if whose is None else _people_figures(whose, figures, judged)
        judged_line = None
        if line is not None and people is not None and required is not None:
            judged_line = judge_line(line, people, labels, spec.privacy.k, quasi, attributes, required)
        worst = worst_classes(tallies, labels, figures, attributes)
        alone = [] if form.together else count_alone(tallies, len(labels), names, tuple_counts)
        risks = _risks(spec.privacy, classes, quasi, hierarchies, release, population, counts_people=whose is not None)
    problems = _disagreements(evidence, released, profile, figures, left, spec.privacy)
    if whose is not None and spec.attributes.person is not None and spec.attributes.person.rows == "together":
        problems += whose.apart()
    problems += [violation(broken) for broken in figures.broken]
    if isinstance(rows, FormedRows):
        problems += not_in_classes(rows, evidence.projections, figures.homogeneous if form.is_exact else {})
    problems += [] if judged_line is None else judged_line.problems
    problems += [] if risks is None or spec.privacy.risk is None else risks.broken(spec.privacy.risk)
    far = [unproven(each.guarantee) for each in near if not each.guarantee.holds]
    problems += [*far, *(notes if far else [])]
    problems += [too_coarse(spec, name, *found) for name, found in figures.coarse.items()]
    labelled = not (spec.aggregates or form.is_exact)
    compared = labelled and (figures.classes <= MOST_COMPARED or spec.method.promises_disjoint)
    disjoint = compared and are_disjoint(classes, quasi)
    if spec.method.promises_disjoint and not disjoint and not form.is_exact:
        problems.append(
            "regions overlap: the labels of two classes have values in common, but the method promises disjoint regions"
        )
    if left_class is not None:
        problems += [violation(broken, suppressed=True) for broken in left_class.broken]
    expectations = [expect_rows(figures.classes), *expectations_of(spec.privacy.k, of_whole)]
    expectations += [] if n is None else expect_supersets(attributes)
    expectations += [] if whose is None else expect_people(spec.privacy.k, judged)
    validation = validate(classes, f"{spec.name}: every class", expectations, figures.classes)
    problems += [f"Great Expectations: {failure}" for failure in validation.failures]
    if not validation.passed and not validation.failures:
        problems.append("Great Expectations: the suite over the class table does not pass")
    of_input, of_far = figures.more_losses[: len(by_input)], figures.more_losses[len(by_input) :]
    figures_of = {
        **_as_json(figures, quasi, attributes, counts, left, left_class),
        "near": {
            each.guarantee.attribute: {
                "achieved": each.guarantee.achieved,
                "classes": {"whole_table": each.whole_table, "itself": each.itself, "superset": each.superset},
            }
            for each in near
        },
        "quasi_identifiers": {
            **{name: {} for name in spec.attributes.quasi_identifiers},
            **measured_on(spec, named, hierarchies, profile.quasi),
        },
        "regions": "disjoint" if disjoint else "overlapping" if compared else "not looked at",
        "warnings": [
            *warnings_of(
                figures,
                [] if form.is_exact else quasi,
                named,
                _judged_attributes(texts, counts, spec, hierarchies),
                judged[len(attributes) :],
                texts,
                not form.is_plain,
            ),
            *(far_number_warnings(profile, spec.privacy.k, figures.losses, of_far) if of_far else []),
        ],
        "columns": {
            name: {"type": type_name(fields[name]), "missing": missing} for name, missing in rows.missing.items()
        },
        "fingerprint": str(released),
        "rows": released.rows,
        "expectations_evaluated": len(expectations),
        "extremes": figures.extremes,
        "spreads": figures.histograms,
        "guessed": dict(figures.guessed),
        "worst": worst,
        "by_input": {
            "ncp": sum(of_input) / len(of_input) if of_input else None,
            "ncp_by_quasi_identifier": dict(zip(figures.losses, of_input, strict=True)),
        },
    }
    if isinstance(rows, FormedRows):
        figures_of["fingerprints"] = {name: str(rows.projections[name]) for name in tables or {}}
    if form.is_exact:
        figures_of |= {"ncp": 0.0, "ncp_by_quasi_identifier": dict.fromkeys(spec.attributes.quasi_identifiers, 0.0)}
    if of_people is not None:
        figures_of["people"] = of_people
    if judged_line is not None:
        assert profile.people is not None
        figures_of["earlier"] = {**judged_line.figures, **_not_as_they_are(profile.people, judged_line)}
    if risks is not None:
        figures_of["risks"] = risks.to_json()
    if (weight := spec.attributes.published_weight) is not None:
        figures_of["weights"] = release_weights(release, labels, names, weight)
    if spec.privacy.joint:
        figures_of["joint"] = {a.name: _reached(figures, a) for a in judged[len(attributes) :]}
    if tuples:
        figures_of["tuples"] = _growth(figures, tuples)
    if alone:
        figures_of["alone"] = alone
    if spec.privacy.profile is not None:
        columns = published_columns(spec)
        entry, broken_rules = judge_profile(release, spec, columns, hierarchies, populations, figures_of)
        figures_of["profile"] = entry
        problems += broken_rules
    only_coarse = 0 < len(problems) == len(figures.coarse)
    return Verdict(tuple(problems), figures_of, validation, only_coarse)


def _class_table(
    tallies: Table,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    more: Sequence[ClassMeasure],
    spec: ReleaseSpec,
    path: str,
) -> tuple[Table, list[str]]:
    """The class table, written; if (n, t)-closeness is required, with the superset that proves each class, and notes on
    those not tried.
    """
    if spec.privacy.n is None:
        return write_and_read(class_table(tallies, quasi, attributes, more), path), []
    with keep(class_table(tallies, quasi, attributes, more)) as classes:
        extended, notes = find_supersets(classes, tallies, quasi, attributes, spec.privacy.n)
        return write_and_read(extended, path), notes


def _risks(
    privacy: Privacy,
    classes: Table,
    quasi: Sequence[JudgedQuasi],
    hierarchies: Mapping[str, Hierarchy],
    release: Table,
    population: Table | None,
    counts_people: bool,
) -> PopulationRisks | None:
    """The risks of re-identification; None if the run file names neither a population nor limits."""
    if privacy.population is None and privacy.risk is None:
        return None
    threshold = THRESHOLD if privacy.risk is None else privacy.risk.threshold
    counted = "people" if counts_people else "size"
    return measure_risks(
        classes,
        counted,
        privacy.population,
        threshold,
        quasi,
        hierarchies,
        table=release,
        listed=population,
        what="privacy.population",
    )


def _columns_of(release: Table, tables: Mapping[str, WrittenTable], spec: ReleaseSpec) -> dict[str, pa.Field]:
    """The columns of all tables of a release, each of which has those that it must have, and no others."""
    schema, sensitive = schema_of(release), spec.attributes.sensitive_attributes
    _require_columns(schema.names, spec)
    fields = {field.name: field for field in schema}
    labels = [column for columns in published_columns(spec).values() for column in columns]
    for name, columns in spec.release.tables(labels, sensitive).items():
        found = schema_of(tables[name][0])
        if found.names != columns:
            raise GuaranteeError(f"the table {name!r} has missing or unexpected columns; nothing is published")
        fields |= {field.name: field for field in found}
    return fields


def _require_columns(released: Sequence[str], spec: ReleaseSpec) -> None:
    attributes = spec.attributes
    columns = [column for pair in published_columns(spec).values() for column in pair]
    expected = {*columns, *attributes.beside, *([GROUP] if spec.release.is_exact else [])}
    expected |= set() if spec.release.is_split else {*attributes.sensitive_attributes}
    person = [] if attributes.person is None else [attributes.person.column]
    person = [column for column in person if column not in expected]  # its pseudonym may have its name
    for column in (*attributes.direct_identifiers, *person):
        if column in released:
            raise GuaranteeError(f"the direct identifier {column!r} is in the release; nothing is published")
    if set(released) != expected:
        odd = sorted(expected ^ set(released))
        raise GuaranteeError(
            f"{len(odd)} columns of the release are missing or unexpected, the first is {odd[0]!r}; nothing is "
            "published"
        )


@contextmanager
def _labels_required() -> Iterator[None]:
    """Raises GuaranteeError if a task could not read a file of the release, or a published value is not a label."""
    try:
        with errors_of_tasks(DamagedFileError, NoLabelError):
            yield
    except DamagedFileError as error:
        raise GuaranteeError(f"the release is damaged: {error}") from None
    except NoLabelError:
        raise GuaranteeError("a published value is not a label of its quasi-identifier; nothing is published") from None


def _judged_attributes(
    texts: Sequence[str], counts: Sequence[Counts], spec: ReleaseSpec, hierarchies: Mapping[str, Hierarchy]
) -> list[JudgedAttribute]:
    """The sensitive attributes, with these counts of the whole table. texts: the columns of text."""
    try:
        return [
            judged_attribute(name, settings, rows_of, hierarchies.get(name), name in texts)
            for (name, settings), rows_of in zip(spec.attributes.sensitive_attributes.items(), counts, strict=True)
        ]
    except InputError as error:
        raise GuaranteeError(f"the release cannot be judged: {error}", values=error.values) from None


def _joint_attributes(
    histogram: TupleCounts | None, attributes: Sequence[JudgedAttribute], spec: ReleaseSpec
) -> list[JudgedAttribute]:
    """The tuples that must be close, each as one attribute."""
    try:
        return joint_attributes(histogram, attributes, spec.privacy.joint or ())
    except InputError as error:
        raise GuaranteeError(f"the release cannot be judged: {error}") from None


def _disagreements(
    evidence: Evidence,
    released: Fingerprint,
    profile: Profile,
    figures: ClassFigures,
    left: SuppressedRows,
    privacy: Privacy,
) -> list[str]:
    """Differences between the release and the input, generalized, less the rows that may be suppressed."""
    problems = []
    if evidence.raw != evidence.input or evidence.input != profile.fingerprint:
        problems.append("the rows whose labels were checked during the write are not the rows of the input")
    if str(released) != evidence.published:
        problems.append("the release that was read back differs from the release that was written")
    most = privacy.most_suppressed(profile.rows)
    if not released.rows == profile.rows - left.rows == figures.rows or not 0 <= left.rows <= most:
        problems.append(
            f"{released.rows} rows are released and {figures.rows} are in classes, of {profile.rows} rows of the "
            f"input; {left.rows} are suppressed, and privacy.suppression_limit allows {most}"
        )
    problems += [
        f"{profile.sensitive[i].name}: the released values differ from those of the input" for i in left.unexplained
    ]
    return problems


def _as_json(
    figures: ClassFigures,
    quasi: Sequence[JudgedQuasi],
    attributes: Sequence[JudgedAttribute],
    released: Sequence[Counts],
    left: SuppressedRows,
    left_class: ClassFigures | None,
) -> dict[str, Any]:
    """The figures for the certificate. released: the rows with each value, by attribute; left_class: the suppressed
    rows as a class, if their distribution is public.
    """
    entries, suppressed = _of_attributes(figures, attributes), {"rows": left.rows}
    for a, counts, missing in zip(attributes, released, left.values, strict=True):
        entries[a.name]["domain"] = listing(a.values)
        entries[a.name]["unused"] = listing([value for value in a.values if not counts.get(value)])
        if a.settings.domain is not None:
            entries[a.name]["places"] = _places(a, a.settings.domain)
        if left_class is not None:
            entries[a.name]["input"] = input_listing(a, missing)
    return {
        "suppressed": suppressed
        if left_class is None
        else {**suppressed, "attributes": _of_attributes(left_class, attributes)},
        "classes": figures.classes,
        "smallest_class": figures.smallest,
        "largest_class": figures.largest,
        "discernibility": figures.discernibility,
        "ncp": figures.ncp if figures.losses else None,
        "ncp_by_quasi_identifier": {q.name: figures.losses.get(q.name) for q in quasi},
        "attributes": entries,
    }


def _places(a: JudgedAttribute, settings: EvenPlaces) -> dict[str, Any]:
    """The places between which an attribute's distance is measured, and those without rows."""
    places = places_of(a.name, a.values, settings)
    empty = [i for i, n in enumerate(places.counts(a.distance.table).tolist()) if not n]
    return {
        **settings.model_dump(mode="json", exclude_none=True),
        "size": places.size,
        "ends": listing(list(map(str, places.ends)), "ends"),
        "empty": listing(empty, "places"),
    }


def _of_attributes(figures: ClassFigures, attributes: Sequence[JudgedAttribute]) -> dict[str, dict[str, Any]]:
    """What the classes achieve, by attribute."""
    counted = {"homogeneous": figures.homogeneous, "similar": figures.similar, "unlike": figures.unlike}
    return {
        a.name: {
            "reached": _reached(figures, a),
            **{what: vars(found[a.name]) for what, found in counted.items()},
        }
        for a in attributes
    }


def _reached(figures: ClassFigures, a: JudgedAttribute, over: str = "") -> dict[str, Any]:
    """What the classes achieve in one attribute, by the key of each judge. over: the end of the measures' names."""
    found = ((judge, figures.of(judge.measure + over, a.name)) for judge in judges_of(a))
    return {judge.key: judge.reached(guarantee) for judge, guarantee in found if guarantee is not None}


def _growth(figures: ClassFigures, tuples: Sequence[TupleCloseness]) -> list[dict[str, Any]]:
    """How far the tuples of the first attribute, of the first two, and so on, are from the table's in the farthest
    class, beside the least that any class of its size can reach.
    """
    return [
        {
            "attributes": list(one.names),
            "emd": str(found.achieved),
            "size": found.size,
            "least": str(least_distance(one.counts, found.size or 1)),
        }
        for one, found in zip(tuples, figures.more, strict=True)
    ]


def _not_as_they_are(people: People, line: JudgedLine) -> dict[str, int]:
    """How many people are published as they were, withheld, and waiting: see `report/certificate.schema.json`."""
    members = people.members
    assert members is not None
    newcomers = people.people - members.stayed - members.kept - members.withheld
    waiting = newcomers - line.figures["newcomers"]["people"]
    return {"kept": members.kept, "withheld": members.withheld, "waiting": waiting}


def _people_figures(
    whose: ReleasedPeople, figures: ClassFigures, attributes: Sequence[JudgedAttribute]
) -> dict[str, Any]:
    """The people of the input, and what classes achieve over people."""
    smallest = figures.of(f"k-anonymity{OVER_PEOPLE}")
    assert smallest is not None
    return {
        "people": sum(whose.sizes.values()),
        "most_rows": max(whose.sizes),
        "smallest_class": smallest.achieved,
        "attributes": {a.name: _reached(figures, a, OVER_PEOPLE) for a in attributes},
    }
