"""The one pass over the input: rows are staged, and their tallies become the profile of the
table.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

import pyarrow as pa

from tclose_spark.engine.protocol import Mapper, OpenedTable, Table
from tclose_spark.engine.sampling import SAMPLE
from tclose_spark.engine.sources import (
    check_rows,
    check_text,
    commit_of,
    errors_translated,
    read_table,
)
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
from tclose_spark.errors import InputError
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import InputRecord, ProfileRecord
from tclose_spark.io.tables.check_columns import check_columns
from tclose_spark.stages.input_reader import InputReader, readers_of
from tclose_spark.stages.insensitive import guard_insensitive
from tclose_spark.stages.preparation import BROKEN, DAMAGED, Preparation
from tclose_spark.stages.staging.area import (
    PROFILE,
    STAGED_COLUMNS,
    STAGED_ROWS,
    drop_rows,
    resolved_attributes,
)
from tclose_spark.stages.staging.batches import (
    HASH,
    STAGED,
    StagedColumns,
    person_columns,
    split_kept,
    staged_batches,
    write_batch,
)
from tclose_spark.stages.staging.profiling import StagedTable, profile_of, staged_sample
from tclose_spark.stages.staging.resuming import sealed_pseudonyms, sealed_settings, state_of_inputs
from tclose_spark.stages.staging.tallies import TALLIES, TaskTallies, read_tallies, staged_tallies
from tclose_spark.stages.warnings import (
    certified_warnings,
    coverage_warnings,
    profile_warnings,
    subjects_notes,
)
from tclose_spark.table.atoms import ATOM
from tclose_spark.table.dictionaries import coded, decoded
from tclose_spark.table.domains import MOST_VALUES, Profile
from tclose_spark.table.entities.whole_values import Sampler
from tclose_spark.table.fingerprint import RowHash
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.people import PERSON, whole_people


def profile_input(run: Run) -> ProfileRecord:
    """Profiles and stages the input of a run; returns its version, state, fingerprint and
    warnings.
    """
    source = run.spec.input
    commit = commit_of(run.session, source)
    version = None if commit is None else commit.version
    state = state_of_inputs(run, commit)
    table = read_table(
        run.session,
        source,
        version,
        run.spec.attributes.inputs,
        run.spec.missing_values,
    )
    readers = readers_of(run, may_continue=True)
    continued = any(reader.continued for reader in readers)
    path = run.staging.path(STAGED_ROWS)

    def profiled() -> tuple[Profile, dict[str, Hierarchy]]:
        drop_rows(run)
        return profile_table(table, version, path, run, readers)

    try:
        profile, trees = again_if_disturbed(
            run.session,
            profiled,
            lambda _: not continued,
            lambda found: found[0].people,
        )
        built = run.write_hierarchies(trees)
        attributes = resolved_attributes(run.with_hierarchies(trees), profile)
        columns = StagedColumns.of(schema_of(table), run.spec, continued)
        batches = staged_batches(run.session, path)
        insensitive = guard_insensitive(
            batches,
            columns,
            run.spec,
            profile,
            attributes.quasi_identifiers,
        )
    except BaseException:
        drop_rows(run)
        raise
    of_options = [reader.record(run, table, profile) for reader in readers]
    run.staging.write(PROFILE, profile.to_json())
    run.staging.write(STAGED_COLUMNS, columns.to_json())
    found = {"hierarchies": built, "insensitive": insensitive}
    record = ProfileRecord(
        input=InputRecord(
            path=source.path,
            rows=profile.rows,
            version=version,
            state=state,
            fingerprint=profile.fingerprint,
        ),
        sealed=sealed_settings(run),
        pseudonyms=sealed_pseudonyms(run),
        warnings=[
            *profile_warnings(profile, run.spec),
            *coverage_warnings(schema_of(table).names, run.spec.attributes),
            *(one for reader in readers for one in reader.warnings),
        ],
        repeated=certified_warnings(profile),
        subjects=subjects_notes(profile, run.spec.attributes),
    ).having({name: one for name, one in found.items() if one}, *of_options)
    for warning in (*record.subjects.internal, *record.warnings):
        run.announce(f"note: {warning}")
    return record


def profile_table(
    table: Table,
    version: int | None,
    staged: str,
    run: Run,
    readers: Sequence[InputReader] | None = None,
) -> tuple[Profile, dict[str, Hierarchy]]:
    """The profile of a raw table, and its hierarchies by column: those of the run, and those built
    from its values. One pass over the table, which stages the rows at the path `staged`.

    version: of the table, if it has versions.
    readers: of the run's options; by default they continue no earlier release.

    Raises:
        InputError: if a column is missing or its values do not fit the run file; the message names
            each such column, in the order of the run file.
        ConfigurationError: if the secret of a pseudonym is missing or too short.
    """
    spec = run.spec
    secret = run.secret
    schema = schema_of(table)
    check_columns(schema, spec)
    source = OpenedTable(table, spec.input, spec.attributes.inputs)
    readers = readers_of(run) if readers is None else readers
    preparation = Preparation.of(
        schema,
        spec,
        secret,
        continued=any(reader.continued for reader in readers),
    )
    with errors_translated(source):
        raw = select(table, preparation.read)
        raw = reduce(
            lambda rows, reader: reader.rows(table, rows, preparation.columns),
            readers,
            raw,
        )
        keeps = any(reader.keeps for reader in readers)
        write_rows(map_batches(raw, stager(preparation, secret, keeps), STAGED, True), staged)
    session = session_of(table)
    with sized_shuffles(session, MOST_VALUES):  # counts of values are shuffled
        tallies = collect(staged_tallies(session, staged), 2 * MOST_VALUES)
    if tallies.num_rows == 2 * MOST_VALUES:
        raise InputError(
            f"{spec.input.path} has more than {MOST_VALUES:,} distinct values in all; use coarser "
            "ones",
        )
    counted = read_tallies(tallies, spec.attributes)
    if not counted.fingerprint.rows:
        raise InputError(f"input.path: {spec.input.path} has no rows")
    check_rows(source, counted.marked.get(BROKEN, 0), counted.fingerprint.rows)
    if counted.marked.get(DAMAGED) or counted.has_damaged_values:
        check_text(source)
    try:
        sampled = preparation.sampled
        held = StagedTable(
            batches=staged_batches(session, staged),
            counted=counted,
            sample=staged_sample(session, staged, len(sampled), counted.fingerprint.rows),
            sampled=sampled,
        )
        return profile_of(table, version, held, run, readers)
    except InputError as error:
        causes = [reader.cause for reader in readers if reader.cause]
        if causes:
            error.reword(lambda text: ". ".join([text, *causes]))
        raise


def stager(preparation: Preparation, secret: str, keeps: bool) -> Mapper:
    """Stages raw batches; then the tallies of the task. keeps: whether batches have kept rows (see
    `with_atoms`).
    """
    columns = preparation.columns

    def stage(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        tallies = TaskTallies(columns, list(preparation.marks))
        sampler = Sampler(len(preparation.sampled))
        keyed = RowHash.of(secret, len(columns.keyed(columns.names)) + len(columns.hashed))
        for batch in whole_people(batches) if PERSON in columns.owners else batches:
            if batch.num_rows:
                kept = list[pa.Array]()
                atom = dict[str, pa.Array]()
                if ATOM in columns.owners:
                    batch, kept, atom[ATOM] = split_kept(batch, len(columns.names) if keeps else 0)
                held = preparation.staged(batch)
                owned = preparation.owned(batch)
                if kept and len(kept[-1]):
                    *held, owned[PERSON] = map(_one_after_another, [*held, owned[PERSON]], kept)
                hashes = keyed.of_rows(
                    [*columns.keyed(held), *(owned[name] for name in columns.hashed)],
                )
                varying = list[int]()
                if PERSON in owned:
                    of_person, varying = person_columns(columns, held, owned[PERSON], hashes)
                    owned |= {**of_person, **atom}
                sampler.add(preparation.to_sample(batch))
                marked = preparation.marked(batch)
                spellings = preparation.spellings(batch)
                tallies.add(held, marked, spellings, owned, varying, preparation.weights(batch))
                staged_columns = [*map(_narrow, [*held, *owned.values()]), pa.array(hashes)]
                names = [*columns.names, *owned, HASH]
                rows = pa.RecordBatch.from_arrays(staged_columns, names=names)
                yield staged({"batch": [write_batch(rows)]})
        listed = zip(TALLIES.names, zip(*tallies.rows(), strict=True), strict=True)
        yield staged(dict(listed))
        yield staged({SAMPLE: [sampler.sample().to_bytes()]})

    return stage


def staged(values: Mapping[str, Sequence[Any]]) -> pa.RecordBatch:
    """Rows of the staged table. values: of some of its columns."""
    rows = len(next(iter(values.values())))
    arrays = [pa.array(values.get(field.name, [None] * rows), field.type) for field in STAGED]
    return pa.RecordBatch.from_arrays(arrays, schema=STAGED)


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
