"""The suggested role of one column, by its name, description and facts: of two possible roles, the
safer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from tclose_spark.suggesting.facts import ColumnFacts
from tclose_spark.table.column_names.hints import CONCEPTS, KEYED, Concept, Hint, hint_of
from tclose_spark.table.column_names.names import is_name
from tclose_spark.table.columns.patterns import FREE_TEXT
from tclose_spark.table.entities.finding import Entity

Role = Literal["direct", "quasi", "sensitive", "insensitive", "weight", "open"]
"""open: neither the name nor the figures show it. The release leaves such a column out, and the run
file lists it.
"""

# Distinct values per row from which a column identifies people, as in a profile.
NEARLY_UNIQUE = 0.5
KEYED_OF_A_CONCEPT = 0.2  # the same for a column whose name calls it a number or a key
LOOKING_ALIKE = 0.05  # share of values that look like addresses or numbers of people, from which a column identifies
FEWEST = 50  # rows of every value of an insensitive column
MOST_VALUES = 10  # of an insensitive column
WEIGHTS = (
    "neither its name nor its figures show whether it is the weight of a body (a "
    "quasi-identifier) or of a row of a survey (attributes.weight)"
)
MEASURABLE = frozenset(
    [
        *(
            "age",
            "money",
            "finances",
            "measurement",
            "grade",
            "judgement",
            "health",
            "outcome",
            "event",
        ),
        *("what is seen", "survey weight"),
    ],
)
"""Concepts of measurements, which may be different for nearly all people."""
MEASURED = 0.9  # share of numbers from which a column with the name of a measurement is one
EVENT, SEEN, WEIGHT = (
    next(concept for concept in CONCEPTS if concept.name == name)
    for name in ("event", "what is seen", "survey weight")
)


@dataclass(frozen=True, kw_only=True)
class SuggestedColumn:
    """A column and its suggested role. why: the reason, without values."""

    facts: ColumnFacts
    hint: Hint
    role: Role
    why: str

    @property
    def name(self) -> str:
        """The column's name."""
        return self.facts.name

    @property
    def concept(self) -> Concept | None:
        """The concept that its name, or its description, stands for."""
        return self.hint.concept


def suggest_role(facts: ColumnFacts) -> SuggestedColumn:
    """The suggested role of a column.

    A direct identifier is recognized by its name or description, by the form of its values, or by
    the number of distinct ones. A column is insensitive only if nothing suggests another role.
    """
    hint = _hint(facts)
    role, why = _role(facts, hint)
    return SuggestedColumn(facts=facts, hint=hint, role=role, why=why)


def _hint(facts: ColumnFacts) -> Hint:
    """What its name or its description suggests, where its values decide between meanings: dates
    are of birth or of an event, and a weight is that of a body or of a row of a survey.
    """
    hint = hint_of(facts.called)
    if (
        facts.is_date
        and (hint.concept is None or hint.concept.name != "age")
        and not hint.technical
    ):
        return replace(hint, concept=EVENT)
    if hint.weight and facts.weighs:
        return replace(hint, concept=SEEN if facts.weighs == "bodies" else WEIGHT)
    return hint


def _role(facts: ColumnFacts, hint: Hint) -> tuple[Role, str]:
    concept = hint.concept
    if facts.entity is not None:
        return "direct", _groups(facts.entity, facts.name)
    if concept is not None and concept.role == "direct":
        return "direct", f"{facts.told_by}: {concept.name}"
    if facts.marked:
        return "direct", "its description: marked as an identifier"
    looks = _looks(facts)
    if looks is not None and looks[1] >= LOOKING_ALIKE:
        return "direct", looks[0]
    if (
        concept is not None
        and concept.role == "weight"
        and facts.are_all_numbers
        and not facts.whole.missing
    ):
        return "weight", f"{facts.told_by}: {concept.name}"
    identifying = _unique(facts, hint)
    if identifying:
        return "direct", identifying
    if facts.unusable:
        return "open", facts.unusable
    if not facts.whole.present:
        return "open", "it is empty"
    if looks is not None:
        return "open", f"{looks[0]}: text with traces of people"
    if concept is not None and concept.role == "weight":
        return "open", f"{facts.told_by}: {concept.name}; but not all rows have a number"
    if concept is not None:
        return concept.role, f"{facts.told_by}: {concept.name}"
    if _says_nothing(facts, hint):
        return (
            "insensitive",
            "few values, none rare; named after the table"
            if facts.whole.distinct > 1
            else "one value",
        )
    if hint.weight:
        return "open", WEIGHTS
    return "open", "neither its name nor its figures show its role"


def _groups(entity: Entity, column: str) -> str:
    """What shows that a column groups rows like persons or households, by itself or with another
    one.
    """
    others = [
        name if is_name(name) else "another column" for name in entity.columns if name != column
    ]
    head = f"with {others[0]} it" if others else "it"
    constant = ", ".join(name for name in entity.constant if is_name(name))
    each = f"{entity.values:,} values with {entity.rows_each:.1f} rows each on average"
    return f"{head} groups rows like a {entity.kind}: {each}, within which {constant} are constant"


def _looks(facts: ColumnFacts) -> tuple[str, float] | None:
    """(what most values that look like a person's look like, the share of all such values); None if
    there are none.
    """
    if not facts.identifying:
        return None
    what, rows = max(facts.identifying.items(), key=lambda item: item[1])
    return f"{rows:,} of {facts.present:,} values look like {what}", sum(
        facts.identifying.values(),
    ) / facts.present


def _unique(facts: ColumnFacts, hint: Hint) -> str:
    """Why the number of its values makes a column an identifier; "" if it does not."""
    about = "about " if facts.whole.estimated else ""
    said = f"{about}{facts.uniqueness:.0%} of its values are different"
    known = (
        hint.quantity or (hint.concept is not None and hint.concept.name in MEASURABLE)
    ) and not hint.numbers
    measured = known and (_are_mostly_numbers(facts) or facts.is_date)  # a salary, a duration
    if not hint.numbers and has_fractions(facts):
        return ""  # keys are whole numbers; a measurement without a known name is left out
    if not hint.numbers and facts.measures >= MEASURED * max(1, facts.present):
        return ""
    if facts.uniqueness >= NEARLY_UNIQUE and not measured and facts.whole.present > 1:
        return f"nearly unique: {said}"
    if hint.numbers and facts.uniqueness >= (KEYED if hint.concept is None else KEYED_OF_A_CONCEPT):
        return f"{facts.told_by} is that of a number, and {said}"
    if facts.length >= FREE_TEXT and facts.uniqueness >= KEYED:
        return f"free text ({facts.length:.0f} characters on average), which may name people"
    return ""


def _are_mostly_numbers(facts: ColumnFacts) -> bool:
    """Whether nearly all values are numbers, or nearly all of the sample are amounts such as
    2.345,00 \u20ac.
    """
    are_kind = facts.kind in ("integer", "decimal", "text")
    are_numbers = are_kind and facts.whole.numerals >= MEASURED * facts.whole.present
    return (
        are_numbers or bool(facts.codes.labels) or facts.amounts >= MEASURED * max(1, facts.present)
    )


def has_fractions(facts: ColumnFacts) -> bool:
    """Whether most values are numbers with fractions, as those of no key are."""
    return facts.are_all_numbers and 2 * facts.fractions > facts.distinct


def is_measurement(facts: ColumnFacts) -> bool:
    """Whether its values are measured, by their form: numbers with fractions, or whole numbers of
    different lengths most of which several rows have. Keys of people have one length, or are
    different.
    """
    if (
        facts.entity is not None
        or not facts.are_all_numbers
        or facts.coded
        or facts.whole.distinct <= MOST_VALUES
    ):
        return False
    return has_fractions(facts) or (facts.uniqueness < NEARLY_UNIQUE and facts.lengths > 1)


def _says_nothing(facts: ColumnFacts, hint: Hint) -> bool:
    """Whether a column may be published unchanged: few values, all frequent, and a technical
    name.
    """
    few = (
        facts.whole.distinct <= MOST_VALUES
        and facts.distinct <= MOST_VALUES
        and facts.fewest >= FEWEST
    )
    return (
        few
        and not hint.codes
        and (hint.technical or (facts.distinct == 1 and not facts.whole.missing))
    )
