"""What the sample of whole values shows about whom rows are about. Tasks drew it while they staged
rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclose_spark.engine.protocol import Session
from tclose_spark.engine.sampling import SAMPLE, added_up
from tclose_spark.engine.tables import read_rows, select
from tclose_spark.runfile.attributes import Attributes
from tclose_spark.stages.staging.batches import STAGED
from tclose_spark.table.column_names.hints import KEYED, hint_of, is_shared, least_uniqueness
from tclose_spark.table.domains import Repetition
from tclose_spark.table.entities.finding import Subjects, find_subjects
from tclose_spark.table.entities.whole_values import WholeValues


def staged_sample(session: Session, path: str, columns: int, rows: int) -> WholeValues:
    """The sample of a staged table with this many rows, reduced. columns: those that were
    sampled.
    """
    return added_up(select(read_rows(session, path, STAGED), [SAMPLE]), columns, rows)


def subjects_of(sample: WholeValues, names: Sequence[str]) -> Subjects:
    """Whom the rows of a table are about. names: of the sampled columns."""
    return find_subjects(sample, names, list(map(hint_of, names)))


def repeated_identifiers(
    sample: WholeValues, names: Sequence[str], attributes: Attributes, subjects: Subjects
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
