"""Whether the published pseudonyms are keyed hashes, and no raw values (see
`attributes.pseudonyms`).

`PseudonymsWords` describes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa
import pyarrow.compute as pc

from tclose_spark.checks.judged_release import JudgedRelease, ReleaseJudge
from tclose_spark.engine.tables import collect, map_batches, select
from tclose_spark.errors import GuaranteeError
from tclose_spark.report.certificate.sections import Certificate
from tclose_spark.report.option_words import Certified, OptionWords
from tclose_spark.runfile.columns import NAMED

PSEUDONYM = "^[0-9a-f]{32}$"
WRONG = pa.schema([("place", pa.int64()), ("rows", pa.int64())])


class PseudonymsWords(OptionWords):
    """What the key of each published pseudonym is."""

    def certify(self, made: Certified, certificate: Certificate) -> None:
        names = made.spec.attributes.pseudonym_names
        pseudonyms = made.spec.attributes.pseudonyms
        keyed = {names[column]: one.keyed for column, one in pseudonyms.items()}
        certificate.pseudonyms = keyed
        certificate.warnings += [_linkable(*one) for one in keyed.items()]

    def roles(self, certificate: Certificate) -> Mapping[str, list[str]]:
        pseudonyms = certificate.pseudonyms or {}
        columns = certificate.release.columns
        return {"pseudonyms": [column for column in columns if column in pseudonyms]}

    def columns(self, certificate: Certificate) -> Iterator[tuple[str, str, str, str, str]]:
        for column in certificate.pseudonyms or {}:
            treatment = "replaces a direct identifier; links the rows of a person"
            yield "pseudonym", column, "", "a keyed hash", treatment


def _linkable(column: str, keyed: str) -> str:
    """The warning about a pseudonym."""
    releases = "of any table " if keyed == NAMED else ""
    return (
        f"{column!r} is a pseudonym ({keyed}): the rows of a person are linkable by it, across "
        f"classes and across releases {releases}with the same secret; an adversary who finds one "
        "row of a person finds all, and k, l and t hold for each class, not for the combination"
    )


class PseudonymsJudge(ReleaseJudge):
    """A value of a pseudonym is missing, or a text of 32 hexadecimal digits."""

    def measure(self, release: JudgedRelease) -> None:
        columns = [*self.spec.attributes.pseudonym_names.values()]
        counted = collect(map_batches(select(release.table, columns), _count, WRONG))
        for place, column in enumerate(columns):
            if rows := pc.sum(counted["rows"].filter(pc.equal(counted["place"], place))).as_py():
                raise GuaranteeError(
                    f"column {column!r}: {rows} rows hold no pseudonym; nothing is published",
                )


def _count(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The wrong values of each column."""
    for batch in batches:
        fits = [
            pc.match_substring_regex(column.cast(pa.string()), PSEUDONYM)
            for column in batch.columns
        ]
        counts = [
            pc.sum(pc.invert(of_rows), min_count=0).cast(pa.int64()).as_py() for of_rows in fits
        ]
        yield pa.RecordBatch.from_arrays([range(len(counts)), counts], schema=WRONG)
