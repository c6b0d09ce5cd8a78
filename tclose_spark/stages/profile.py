"""The one pass over the input: rows are staged, and their tallies become the profile of the table."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import pyarrow as pa

from tclose_spark.checks.profiles.rules import named_identifiers
from tclose_spark.engine.protocol import Mapper, OpenedTable, Table
from tclose_spark.engine.sources import check_rows, check_text, commit_of, errors_translated, read_table
from tclose_spark.engine.tables import (
    again_if_disturbed,
    collect,
    map_batches,
    schema_of,
    select,
    session_of,
    sized_shuffles,
    write_rows,
)
from tclose_spark.errors import InputError, Problems
from tclose_spark.io.run import Run
from tclose_spark.io.tables.check_columns import check_columns
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.stages.insensitive import OF_WEIGHTS, guard_insensitive
from tclose_spark.stages.line.earlier import EarlierRelease, earlier_release
from tclose_spark.stages.line.membership import members_of, split_kept
from tclose_spark.stages.line.requirements import (
    column_types,
    ground_distances,
    kept_note,
    line_notes,
    members_line,
    recognized_notes,
    require_another_input,
    require_known_people,
    require_same_types,
)
from tclose_spark.stages.preparation import (
    BROKEN,
    DAMAGED,
    NOBODY,
    ROUNDED_AWAY,
    UNWEIGHED,
    Preparation,
    holds_numbers,
    wrong_type,
)
from tclose_spark.stages.staging.area import PROFILE, STAGED_COLUMNS, STAGED_ROWS, drop_rows, resolved_attributes
from tclose_spark.stages.staging.batches import HASH, STAGED, StagedColumns, read_batches, staged_batches, write_batch
from tclose_spark.stages.staging.input_states import state_of_inputs
from tclose_spark.stages.staging.people import by_person, person_columns
from tclose_spark.stages.staging.sealed_settings import sealed_pseudonyms, sealed_secret, sealed_settings
from tclose_spark.stages.staging.tallies import Counted, NumberRange, TaskTallies, read_tallies, staged_tallies
from tclose_spark.stages.warnings import NEARLY_UNIQUE, certified_warnings, profile_warnings
from tclose_spark.stages.wrong_values import wrong_values
from tclose_spark.table.columns.preparing import as_text, is_damaged, no_value, not_of_type
from tclose_spark.table.columns.spark_types import type_name
from tclose_spark.table.columns.weights import MOST_PEOPLE, MOST_WEIGHT
from tclose_spark.table.dictionaries import coded, decoded
from tclose_spark.table.domains import (
    MOST_VALUES,
    Profile,
    QuasiDomain,
    SensitiveDomain,
    TupleCounts,
    categorical_domain,
    marginal,
    sensitive_domain,
)
from tclose_spark.table.far_numbers import far_numbers
from tclose_spark.table.hierarchies.building import build_hierarchies
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.labels import LEAST, MOST, NumericLabels
from tclose_spark.table.people import People, whole_people
from tclose_spark.table.row_hash import RowHash


def profile_input(run: Run, record: dict[str, Any]) -> None:
    """Profiles and stages the input of a run. record: gets its version, state, fingerprint and warnings."""
    source = run.spec.input
    commit = commit_of(run.session, source)
    version = None if commit is None else commit.version
    state = state_of_inputs(run, commit)
    table = read_table(run.session, source, version, run.spec.attributes.inputs, run.spec.missing_values)
    earlier = earlier_release(run)
    for note in line_notes(run, earlier is not None):
        run.announce(f"note: {note}")
    path = run.staging.path(STAGED_ROWS)

    def profiled() -> tuple[Profile, dict[str, Hierarchy]]:
        drop_rows(run)
        return profile_table(table, run.spec, run.hierarchies, path, run.secret, version, earlier)

    try:
        profile, trees = again_if_disturbed(
            run.session, profiled, lambda _: earlier is None, lambda found: found[0].people
        )
        built = run.write_hierarchies(trees)
        attributes = resolved_attributes(run.with_hierarchies(trees), profile)
        columns, batches = (
            StagedColumns.of(schema_of(table), run.spec, earlier is not None),
            staged_batches(run.session, path),
        )
        insensitive = guard_insensitive(batches, columns, run.spec, profile, attributes.quasi_identifiers)
    except BaseException:
        drop_rows(run)
        raise
    if earlier is not None:
        require_another_input(run, earlier.made_from, profile)
    run.staging.write(PROFILE, profile.to_json())
    run.staging.write(STAGED_COLUMNS, columns.to_json())
    record["input"] = {
        "path": source.path,
        "rows": profile.rows,
        "version": version,
        "state": state,
        "fingerprint": profile.fingerprint,
    }
    record["sealed"] = sealed_settings(run)
    record["pseudonyms"] = sealed_pseudonyms(run)
    if run.spec.attributes.person is not None:
        record["secret_of_people"] = sealed_secret(run.secret)
        record["distances"] = ground_distances(run)
        record["types"] = column_types(schema_of(table), run.spec)
    if earlier is not None and profile.people is not None and profile.people.members is not None:
        record["earlier"] = {"releases": list(earlier.history), "atoms": str(earlier.fingerprint())}
        run.announce(members_line(profile.people.members))
        for note in recognized_notes(profile.people.members):
            run.announce(f"note: {note}")
    record |= {"hierarchies": built} if built else {}
    record |= {"insensitive": insensitive} if insensitive else {}
    record["warnings"] = [*profile_warnings(profile, run.spec), *named_identifiers(run.spec)]
    record["repeated"] = certified_warnings(profile)
    for warning in record["warnings"]:
        run.announce(f"note: {warning}")


def profile_table(
    table: Table,
    spec: ReleaseSpec,
    hierarchies: Mapping[str, Hierarchy],
    staged: str,
    secret: str,
    version: int | None = None,
    earlier: EarlierRelease | None = None,
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile of a raw table, and its hierarchies by column: the given ones, and those built from its values. One
    pass over the table, which stages the rows at the path `staged`.

    earlier: the release that this one continues.

    Raises:
        InputError: if a column is missing or its values do not fit the run file; the message names each such column,
            in the order of the run file.
        ConfigurationError: if the secret of a pseudonym is missing or too short.
    """
    schema = schema_of(table)
    problems = Problems()
    for check in (check_columns, _check_text):
        with problems.gathered():
            check(schema, spec)
    problems.raise_found()
    source = OpenedTable(table, spec.input, spec.attributes.inputs)
    preparation = Preparation.of(schema, spec, secret, continued=earlier is not None)
    members, count, records = None, None, None
    if earlier is not None and spec.attributes.person is not None:
        require_same_types(column_types(schema, spec), spec, earlier.types)
        records = earlier.records(spec, preparation.columns) if spec.output.leavers == "keep" else None
        members, count = members_of(table, spec, secret, earlier.atoms(), records)
    with errors_translated(source):
        raw = select(table, preparation.read)
        raw = raw if spec.attributes.person is None else by_person(raw, secret, members, records)
        write_rows(map_batches(raw, _stager(preparation, secret, records is not None), STAGED, True), staged)
    session = session_of(table)
    with sized_shuffles(session, MOST_VALUES):  # counts of values are shuffled
        tallies = collect(staged_tallies(session, staged), 2 * MOST_VALUES)
    if tallies.num_rows == 2 * MOST_VALUES:
        raise InputError(f"{spec.input.path} has more than {MOST_VALUES:,} distinct values in all; use coarser ones")
    counted = read_tallies(tallies, spec.attributes, preparation.identifiers)
    if not counted.fingerprint.rows:
        raise InputError(f"input.path: {spec.input.path} has no rows")
    check_rows(source, counted.marked.get(BROKEN, 0), counted.fingerprint.rows)
    values = [value for histogram in counted.histograms for key in histogram for value in key]
    if counted.marked.get(DAMAGED) or is_damaged(pa.array(values, pa.string())).any():
        check_text(source)
    try:
        profile, trees = _profile_of(table, spec, counted, hierarchies, version, staged_batches(session, staged))
    except InputError as error:
        if count is not None and (kept := count().kept):
            error.reword(lambda text: f"{text}. {kept_note(kept)}")
        raise
    if count is not None and profile.people is not None:
        require_known_people(count())
        profile = replace(profile, people=replace(profile.people, members=count()))
    return profile, trees


def _profile_of(
    table: Table,
    spec: ReleaseSpec,
    counted: Counted,
    hierarchies: Mapping[str, Hierarchy],
    version: int | None,
    staged: Table,
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile and hierarchies of a table with these tallies. staged: its staged batches.

    Raises:
        InputError: with all values that columns may not hold.
    """
    schema, quasi, sensitive = schema_of(table), spec.attributes.quasi_identifiers, spec.attributes.sensitive_attributes
    *histograms, tuples = counted.histograms
    trees, domains, attributes = dict(hierarchies), list[QuasiDomain](), list[SensitiveDomain]()
    problems = Problems()
    with problems.gathered():
        _check_person_and_weight(counted, spec)
    for place, (name, settings) in enumerate(quasi.items()):
        values = {key[0]: n for key, n in histograms[place].items()}
        with problems.gathered():
            _check_quasi(table, staged, name, place, settings, counted)
            trees |= build_hierarchies(spec.attributes, {name: values})
            domains.append(
                replace(_numeric_domain(name, counted, table, settings), drawn=counted.drawn[name].by_code())
                if settings.is_numeric
                else categorical_domain(
                    name, values, trees.get(name), settings.generalization == "set", settings.missing == "any"
                )
            )
    for place, (name, attribute) in enumerate(sensitive.items()):
        values = dict(marginal(tuples, place))
        with problems.gathered():
            trees |= build_hierarchies(spec.attributes, {name: values})
            is_text = pa.types.is_string(schema.field(name).type)
            attributes.append(sensitive_domain(name, values, attribute, trees.get(name), is_text))
    for name in spec.attributes.insensitive:
        with problems.gathered():
            _check_repeating(name, counted, spec)
    problems.raise_found()
    people = _people(tuples, counted, spec)
    places = [{value: code for code, value in enumerate(attribute.values)} for attribute in attributes]
    places += [] if people is None else [{str(size): i for i, size in enumerate(people.sizes)}, {"0": 0, "1": 1}]
    cells = sorted((tuple(place[v] for place, v in zip(places, key, strict=True)), n) for key, n in tuples.items())
    profile = Profile(
        rows=counted.fingerprint.rows,
        quasi=tuple(domains),
        sensitive=tuple(attributes),
        cells=tuple(cell for cell, _ in cells),
        cell_counts=tuple(n for _, n in cells),
        distinct_rows=counted.distinct_rows,
        fingerprint=str(counted.fingerprint),
        version=version,
        repeated=counted.repeated,
        people=people,
        rounded_away=counted.marked.get(ROUNDED_AWAY, 0),
        far=tuple(
            found
            for name, rows in counted.far.items()
            if quasi[name].limits is None
            and (found := far_numbers(name, rows, counted.fingerprint.rows - counted.ranges[name].missing))
        ),
        weights=tuple(
            tuple(totals.get(value, 0) for value in attribute.values)
            for attribute, totals in zip(attributes, counted.weights, strict=False)
        ),
    )
    return profile, trees


def _people(tuples: TupleCounts, counted: Counted, spec: ReleaseSpec) -> People | None:
    """The people of the input, if they are counted."""
    if spec.attributes.person is None:
        return None
    *_, sizes, first = (marginal(tuples, i) for i in range(len(spec.attributes.sensitive_attributes) + 2))
    varying = tuple(counted.varying) if spec.attributes.person.rows == "together" else ()
    return People(people=first["1"], sizes=tuple(sorted(int(str(size)) for size in sizes)), varying=varying)


def _stager(preparation: Preparation, secret: str, keeps: bool) -> Mapper:
    """Stages raw batches; then the tallies of the task. keeps: whether batches have kept rows (see `with_atoms`)."""
    columns = preparation.columns

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tallies = TaskTallies(columns, list(preparation.marks), len(preparation.identifiers))
        keyed = RowHash.of(secret, len(columns.keyed(columns.names)) + (columns.person is not None))
        for batch in batches if columns.person is None else whole_people(batches):
            if batch.num_rows:
                kept, atom = list[pa.Array](), list[pa.Array]()
                if columns.continued:
                    batch, kept, *atom = split_kept(batch, len(columns.names) if keeps else 0)
                held, person = preparation.staged(batch), [] if columns.person is None else batch.columns[-1:]
                if kept and len(kept[-1]):
                    *held, person[0] = map(_one_after_another, [*held, *person], kept)
                hashes = keyed.of_rows([*columns.keyed(held), *person])
                of_person, varying = person_columns(columns, held, person, hashes, atom)
                marked, hashed = preparation.marked(batch), preparation.hashed(batch)
                tallies.add(held, marked, hashed, of_person, varying, preparation.weights(batch))
                staged_columns = [*map(_narrow, [*held, *of_person]), pa.array(hashes)]
                rows = pa.RecordBatch.from_arrays(staged_columns, names=[*columns.names, *columns.of_person, HASH])
                yield staged(write_batch(rows), [None], [None], [None])
        yield staged(None, *zip(*tallies.rows(), strict=True))

    def staged(batch: bytes | None, *tallies: Sequence[Any]) -> pa.RecordBatch:
        batches = [batch] * len(tallies[0])
        arrays = [pa.array(values, field.type) for values, field in zip((batches, *tallies), STAGED, strict=True)]
        return pa.RecordBatch.from_arrays(arrays, schema=STAGED)

    return stage


def _one_after_another(column: pa.Array, other: pa.Array) -> pa.Array:
    """The values of two columns; text is `coded`."""
    both = pa.concat_arrays([decoded(column), other.cast(decoded(column).type)])
    return coded(both) if pa.types.is_string(both.type) else both


def _narrow(column: pa.Array) -> pa.Array:
    """A dictionary column with the smallest index type; other columns unchanged."""
    if not pa.types.is_dictionary(column.type):
        return column
    size = len(column.dictionary)
    kind = pa.int8() if size < 2**7 else pa.int16() if size < 2**15 else pa.int32()
    return pa.DictionaryArray.from_arrays(column.indices.cast(kind), column.dictionary)


def _check_text(schema: pa.Schema, spec: ReleaseSpec) -> None:
    """Raises InputError if columns with text options are not text."""
    problems = Problems()
    for role in ("quasi_identifiers", "sensitive_attributes"):
        for name, settings in getattr(spec.attributes, role).items():
            at = schema.get_field_index(name)
            if settings.text is not None and at >= 0 and not pa.types.is_string(schema.field(at).type):
                error = InputError(
                    f"attributes.{role}.{name}.text: the column is of type {type_name(schema.field(at))}; expected "
                    "text, or no such key"
                )
                problems.add(error)
    problems.raise_found()


def _check_person_and_weight(counted: Counted, spec: ReleaseSpec) -> None:
    """Raises InputError for rows without a person, and for weights that are no numbers of people."""
    rows, problems = counted.fingerprint.rows, Problems()
    if (person := spec.attributes.person) is not None and (nobody := counted.marked.get(NOBODY)):
        error = InputError(
            f"attributes.person: column {person.column!r} is missing in {nobody} of {rows} rows; expected a value in "
            "every row"
        )
        problems.add(error)
    if (weight := spec.attributes.weight) is not None and (wrong := counted.marked.get(UNWEIGHED)):
        error = InputError(
            f"attributes.weight: column {weight.column!r} holds no number of people in {wrong} of {rows} rows; "
            f"expected numbers from 0 to {MOST_WEIGHT:,} in every row"
        )
        problems.add(error)
    elif weight is not None and counted.stood_for > MOST_PEOPLE:
        error = InputError(
            f"attributes.weight: column {weight.column!r} adds up to more than {MOST_PEOPLE:,} people in {rows} rows; "
            "expected the number of people whom each row stands for"
        )
        problems.add(error)
    problems.raise_found()


def _check_repeating(name: str, counted: Counted, spec: ReleaseSpec) -> None:
    """Raises InputError if an insensitive column is nearly unique."""
    distinct, rows = counted.distinct[name], counted.fingerprint.rows
    if distinct > NEARLY_UNIQUE * rows and name not in spec.attributes.allow_unique:
        is_weight = name == spec.attributes.published_weight
        raise InputError(
            f"{'weight' if is_weight else 'insensitive attribute'} {name!r} is nearly unique (about {distinct} "
            f"values in {rows} rows): published as it is, it links rows to people; "
            f"{OF_WEIGHTS if is_weight else 'drop it, give it another role'}, or name it in attributes.allow_unique"
        )


def _check_quasi(table: Table, staged: Table, name: str, place: int, quasi: QuasiIdentifier, counted: Counted) -> None:
    """Raises InputError if values of a quasi-identifier are not of its type or outside of its range, if all are
    missing, or if some are and bounds are to be published.
    """
    rows, wrong, problems = counted.fingerprint.rows, counted.marked.get(wrong_type(place), 0), Problems()
    if wrong:
        error = InputError(
            f"quasi-identifier {name!r} is type: {quasi.type}, but {wrong} of {rows} rows hold "
            f"{no_value(quasi)} (blanks count); correct them, "
            f"{'give the right date_format, ' if quasi.calendar else ''}or use type: categorical",
            values=wrong_values(table, name, no_value(quasi), partial(_texts_not_of_type, quasi)).listed,
        )
        problems.add(error)
    absent = counted.ranges[name].missing if quasi.is_numeric else counted.histograms[place].get((None,), 0)
    missing = absent - wrong  # values of another type were staged as missing
    if holds_numbers(quasi) and missing == rows:
        problems.add(InputError(f"quasi-identifier {name!r} is missing in all {rows} rows; leave it out"))
    elif quasi.is_numeric and absent < rows:
        with problems.gathered():
            _check_range(_domain_of_values(name, counted.ranges[name], table, quasi), quasi, staged, f"q{place}")
        if quasi.numeric_output == "bounds" and missing and quasi.missing == "value":
            error = InputError(
                f"quasi-identifier {name!r} is missing in {missing} rows, which bounds cannot express; "
                "use numeric_output: interval, or missing: any"
            )
            problems.add(error)
    problems.raise_found()


def _texts_not_of_type(quasi: QuasiIdentifier, column: pa.Array) -> pa.Array:
    return as_text(column.filter(pa.array(not_of_type(column, quasi))))


def _domain_of_values(name: str, found: NumberRange, table: Table, settings: QuasiIdentifier) -> QuasiDomain:
    """The domain of numbers, from the lowest to the highest present."""
    is_whole = settings.calendar is not None or pa.types.is_integer(schema_of(table).field(name).type)
    return QuasiDomain(
        name=name,
        kind="integer" if is_whole else "double",
        missing=found.missing,
        low=found.low,
        high=found.high,
        calendar=settings.calendar,
    )


def _numeric_domain(name: str, counted: Counted, table: Table, settings: QuasiIdentifier) -> QuasiDomain:
    """The domain of numbers, over the range of the run file if it gives one."""
    domain = _domain_of_values(name, counted.ranges[name], table, settings)
    if settings.limits is None:
        return domain
    low, high = (end * domain.scale for end in settings.limits)
    ends: tuple[float, float] = min(float(low), domain.low), max(float(high), domain.high)
    if domain.kind == "integer":
        ends = max(math.floor(low), LEAST + 1), min(math.ceil(high), MOST)
    return replace(domain, low=ends[0], high=ends[1], known=True)


def _check_range(domain: QuasiDomain, settings: QuasiIdentifier, staged: Table, column: str) -> None:
    """Raises InputError if values are outside of the range of the run file. domain: of the values. staged: batches with
    them, in this column.
    """
    if settings.limits is None:
        return
    low, high = (end * domain.scale for end in settings.limits)
    if low <= Fraction(str(domain.low)) and Fraction(str(domain.high)) <= high:
        return
    write = NumericLabels(domain.kind == "integer", None, domain.calendar).write

    def numbers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in read_batches(batch.column(0) for batch in batches):
            yield pa.RecordBatch.from_arrays([batch[column]], names=[domain.name])

    def outside(numbers: pa.Array) -> pa.Array:
        wrong = {x: write(x) for x in numbers.unique().drop_null().to_pylist() if not low <= Fraction(str(x)) <= high}
        return pa.array([wrong[x] for x in numbers.to_pylist() if x in wrong], pa.string())

    schema = pa.schema([(domain.name, pa.int64() if domain.kind == "integer" else pa.float64())])
    found = wrong_values(map_batches(staged, numbers, schema), domain.name, "outside of its range", outside)
    raise InputError(
        f"attributes.quasi_identifiers.{domain.name}.range: {found.values} values in {found.rows} rows are outside "
        f"of {' to '.join(settings.range or ())}; correct them, or widen the range",
        values=found.listed,
    )
