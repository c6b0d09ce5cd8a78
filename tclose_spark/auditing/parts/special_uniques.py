"""Special uniques: rows that are unique by few quasi-identifiers."""

from __future__ import annotations

from dataclasses import replace

from tclose_spark.auditing.attacks.uniques import MOST_CLASSES, find_special_uniques
from tclose_spark.auditing.parts.part import AuditedTable, Part
from tclose_spark.auditing.question import AuditQuestion
from tclose_spark.auditing.result import AuditResult
from tclose_spark.auditing.tables import AuditTables
from tclose_spark.errors import ConfigurationError
from tclose_spark.measures.disclosure.special_uniques import SpecialUniques


class UniquesSearch(Part):
    """The search, if the question is about them."""

    def check(self, question: AuditQuestion, tables: AuditTables) -> None:
        """See Part."""
        size = question.special_uniques
        if size is not None and size < 1:
            raise ConfigurationError(f"--special-uniques: found {size}; expected at least 1 quasi-identifier")
        if size is not None and question.person is not None:
            raise ConfigurationError(
                "--special-uniques and --person: special uniques are rows, and a person with several rows may be "
                "unique by values that no row has alone; leave out one of the two"
            )

    def measure(self, table: AuditedTable, result: AuditResult) -> AuditResult:
        """See Part."""
        size, most = table.question.special_uniques, table.question.combinations
        if size is None:
            return result
        found = find_special_uniques(table.tallies, table.question, size, most)
        return replace(result, special_uniques=found, notes=(*result.notes, *_notes(found, most)))


def _notes(found: SpecialUniques | None, combinations: int) -> list[str]:
    """A note if not all special uniques were searched for."""
    if found is None:
        return [f"special uniques are not measured: there are more than {MOST_CLASSES:,} classes"]
    if found.complete:
        return []
    return [
        f"special uniques of more than {found.searched} quasi-identifiers are not measured: there are more than "
        f"{combinations:,} combinations; --combinations examines more"
    ]
