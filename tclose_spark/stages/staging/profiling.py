"""The profile of a table from the tallies of its staged rows, with all values that columns may not
hold. The sample of whole values shows whom rows are about; tasks drew it while they staged rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from tclose_spark.engine.protocol import Session, Table
from tclose_spark.engine.sampling import SAMPLE, add_samples
from tclose_spark.engine.tables import read_rows, schema_of, select
from tclose_spark.errors import Problems
from tclose_spark.io.run import Run
from tclose_spark.runfile.attributes import Attributes, QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.input_reader import InputReader
from tclose_spark.stages.preparation import ROUNDED_AWAY
from tclose_spark.stages.staging.batches import STAGED
from tclose_spark.stages.staging.checking import (
    check_quasi,
    check_repeating,
    domain_of_values,
    grouping_problems,
)
from tclose_spark.stages.staging.tallies import Counted
from tclose_spark.table.column_names.hints import KEYED, hint_of, is_shared, least_uniqueness
from tclose_spark.table.domains import (
    Profile,
    QuasiDomain,
    Repetition,
    SensitiveDomain,
    TupleCounts,
    categorical_domain,
    marginal,
    sensitive_domain,
)
from tclose_spark.table.entities.finding import Subjects, find_subjects
from tclose_spark.table.entities.whole_values import WholeValues
from tclose_spark.table.far_numbers import FarNumbers, far_numbers
from tclose_spark.table.hierarchies.building import build_hierarchies
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import LEAST, MOST
from tclose_spark.table.people import CountedOwners


@dataclass(frozen=True, kw_only=True)
class StagedTable:
    """The staged batches of a table, and what the one pass over it has counted.

    sample: of the raw columns `sampled`.
    """

    batches: Table
    counted: Counted
    sample: WholeValues
    sampled: Sequence[str]


def profile_of(
    table: Table,
    version: int | None,
    staged: StagedTable,
    run: Run,
    readers: Sequence[InputReader],
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile and hierarchies of a raw table. version: of the table, if it has versions.

    Raises:
        InputError: with all values that columns may not hold.
    """
    spec = run.spec
    counted = staged.counted
    sample = staged.sample
    sampled = staged.sampled
    schema = schema_of(table)
    quasi = spec.attributes.quasi_identifiers
    sensitive = spec.attributes.sensitive_attributes
    *histograms, tuples = counted.histograms
    trees = dict(run.hierarchies)
    domains = list[QuasiDomain]()
    attributes = list[SensitiveDomain]()
    problems = Problems()
    for problem in (one for reader in readers for one in reader.problems(counted)):
        problems.add(problem)
    for place, (name, settings) in enumerate(quasi.items()):
        values = {key[0]: n for key, n in histograms[place].items()}
        with problems.gathered():
            check_quasi(table, staged.batches, name, place, settings, counted)
            trees |= build_hierarchies(spec.attributes, {name: values})
            domains.append(_domain(name, settings, values, counted, table, trees.get(name)))
    for place, (name, attribute) in enumerate(sensitive.items()):
        values = dict(marginal(tuples, place))
        with problems.gathered():
            trees |= build_hierarchies(spec.attributes, {name: values})
            is_text = pa.types.is_string(schema.field(name).type)
            attributes.append(sensitive_domain(name, values, attribute, trees.get(name), is_text))
    for name in spec.attributes.insensitive:
        with problems.gathered():
            check_repeating(name, counted, spec)
    subjects = subjects_of(sample, sampled)
    for problem in grouping_problems(subjects, spec.attributes):
        problems.add(problem)
    problems.raise_found()
    owners = CountedOwners()
    for reader in readers:
        owners = reader.count_owners(counted, owners)
    cells = _cells(tuples, attributes, owners.counted.values())
    profile = Profile(
        rows=counted.fingerprint.rows,
        quasi=tuple(domains),
        sensitive=tuple(attributes),
        cells=tuple(cell for cell, _ in cells),
        cell_counts=tuple(n for _, n in cells),
        distinct_rows=counted.distinct_rows,
        fingerprint=str(counted.fingerprint),
        version=version,
        subjects=subjects,
        repeated=tuple(
            repeated_identifiers(sample, sampled, spec.attributes, subjects)
            if owners.people is None
            else _repeated_spellings(counted, spec),
        ),
        people=owners.people,
        households=owners.households,
        rounded_away=counted.marked.get(ROUNDED_AWAY, 0),
        far=tuple(_far(counted, quasi)),
        weights=tuple(_weights(attributes, counted)),
    )
    return profile, trees


def _domain(
    name: str,
    settings: QuasiIdentifier,
    values: Mapping[Any, int],
    counted: Counted,
    table: Table,
    tree: Hierarchy | None,
) -> QuasiDomain:
    if settings.is_numeric:
        return _numeric_domain(name, counted, table, settings)
    return categorical_domain(
        name,
        values,
        tree,
        settings.generalization == "set",
        settings.missing == "any",
    )


def _cells(
    tuples: TupleCounts,
    attributes: Sequence[SensitiveDomain],
    counted: Iterable[tuple[int, ...]],
) -> list[tuple[tuple[int, ...], int]]:
    """(the codes of a tuple of values, its rows), ascending."""
    domains = [*(attribute.values for attribute in attributes), *counted]
    places = [{value: code for code, value in enumerate(values)} for values in domains]
    return sorted(
        (tuple(place[v] for place, v in zip(places, key, strict=True)), n)
        for key, n in tuples.items()
    )


def _far(counted: Counted, quasi: Mapping[str, QuasiIdentifier]) -> Iterator[FarNumbers]:
    """The numbers far outside of the others, of quasi-identifiers without a known range."""
    for name, ends in counted.far.items():
        rows = counted.fingerprint.rows - counted.ranges[name].missing
        if quasi[name].limits is None and (found := far_numbers(name, ends, rows)):
            yield found


def _weights(attributes: Sequence[SensitiveDomain], counted: Counted) -> Iterator[tuple[int, ...]]:
    """The people of each value, by attribute, if rows have weights."""
    for attribute, totals in zip(attributes, counted.weights, strict=False):
        yield tuple(totals.get(value, 0) for value in attribute.values)


def _repeated_spellings(counted: Counted, spec: ReleaseSpec) -> Iterator[Repetition]:
    """The people whose identifiers look the same to a reader."""
    if counted.spelled.repeats:
        compared = int(counted.spelled.counts.sum())
        spellings = len(counted.spelled.hashes)
        yield Repetition(spec.attributes.owners["person"], compared, spellings)


def _numeric_domain(
    name: str,
    counted: Counted,
    table: Table,
    settings: QuasiIdentifier,
) -> QuasiDomain:
    """The domain of numbers, over the range of the run file if it gives one."""
    domain = domain_of_values(name, counted.ranges[name], table, settings)
    domain = replace(domain, drawn=counted.drawn[name].by_code())
    if settings.limits is None:
        return domain
    low, high = (end * domain.scale for end in settings.limits)
    ends: tuple[float, float] = min(float(low), domain.low), max(float(high), domain.high)
    if domain.kind == "integer":
        ends = max(math.floor(low), LEAST + 1), min(math.ceil(high), MOST)
    return replace(domain, low=ends[0], high=ends[1], known=True)


def staged_sample(session: Session, path: str, columns: int, rows: int) -> WholeValues:
    """The sample of a staged table with this many rows, reduced. columns: those that were
    sampled.
    """
    return add_samples(select(read_rows(session, path, STAGED), [SAMPLE]), columns, rows)


def subjects_of(sample: WholeValues, names: Sequence[str]) -> Subjects:
    """Whom the rows of a table are about. names: of the sampled columns."""
    return find_subjects(sample, names, list(map(hint_of, names)))


def repeated_identifiers(
    sample: WholeValues,
    names: Sequence[str],
    attributes: Attributes,
    subjects: Subjects,
) -> Iterator[Repetition]:
    """The columns that are known as identifiers of persons, by name or role, and repeat, although
    no other column shows whom they identify.
    """
    taken = {*attributes.quasi_identifiers, *attributes.sensitive_attributes}
    taken |= {name for one in subjects.entities for name in (*one.columns, *one.same)}
    taken |= {column for role, column in attributes.owners.items() if role == "household"}
    for place, name in enumerate(names):
        rows, values = sample.counts(place)
        least = least_uniqueness(name, values)
        if (
            least is None
            and name in (*attributes.direct_identifiers, *attributes.pseudonyms)
            and not is_shared(name)
        ):
            least = KEYED
        if least is None or name in taken:
            continue
        if least * rows <= values < rows:
            known = sample.hashes[:, place] > 0
            yield Repetition(
                name,
                round(sample.rows * known.mean()),
                values << (sample.level * sample.draws[place]),
            )
