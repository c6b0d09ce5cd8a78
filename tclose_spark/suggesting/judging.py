"""What a column may be, by itself: its name, and its facts. The safer role is taken where two are possible."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tclose_spark.suggesting.facts import ColumnFacts
from tclose_spark.suggesting.patterns import FREE_TEXT, OF_ONE
from tclose_spark.table.column_names.hints import KEYED, Hint, hint_of
from tclose_spark.table.column_names.lexicon import Concept

Role = Literal["direct", "quasi", "sensitive", "insensitive", "open"]
"""open: neither the name nor the figures say it; such a column is left out, and asked about."""

NEARLY_UNIQUE = 0.5  # distinct values a row from which a column is taken to point at people, as in a profile
KEYED_OF_A_CONCEPT = 0.2  # the same of a column that calls itself a number or a key of what it names
LOOKING_ALIKE = 0.05  # share of values that look like addresses and numbers of people from which the column is one
FEWEST = 50  # rows that every value of an insensitive column has
MOST_VALUES = 10  # of an insensitive column
PUBLISHABLE = 2000  # values of a category from which its hierarchy is larger than what it tells


@dataclass(frozen=True, kw_only=True)
class SuggestedColumn:
    """A column and what it may be.

    why: in words that hold no value.
    """

    facts: ColumnFacts
    hint: Hint
    role: Role
    why: str

    @property
    def name(self) -> str:
        """The column's."""
        return self.facts.name

    @property
    def concept(self) -> Concept | None:
        """What its name says that it is about."""
        return self.hint.concept


def suggest_role(facts: ColumnFacts) -> SuggestedColumn:
    """What a column may be. A direct identifier is told by its name, by what its values look like, or by how many of
    them are different; only what nothing speaks for may be insensitive.
    """
    hint = hint_of(facts.name)
    role, why = _role(facts, hint)
    return SuggestedColumn(facts=facts, hint=hint, role=role, why=why)


def _role(facts: ColumnFacts, hint: Hint) -> tuple[Role, str]:
    concept = hint.concept
    if concept is not None and concept.role == "direct":
        return "direct", f"its name: {concept.name}"
    looks = _looks(facts)
    if looks is not None and looks[1] >= LOOKING_ALIKE:
        return "direct", looks[0]
    identifying = _unique(facts, hint)
    if identifying:
        return "direct", identifying
    if not facts.whole.present:
        return "open", "it is empty"
    if facts.unusable:
        return "open", facts.unusable
    if looks is not None:
        return "open", f"{looks[0]}: text with traces of people"
    if concept is not None:
        return concept.role, f"its name: {concept.name}"
    if _says_nothing(facts, hint):
        return (
            "insensitive",
            "few values, none rare; named after the table" if facts.whole.distinct > 1 else "one value",
        )
    return "open", "neither its name nor its figures say it"


def _looks(facts: ColumnFacts) -> tuple[str, float] | None:
    """What most values that look like one person's look like, with their number; and their share of all values."""
    if not facts.identifying:
        return None
    what, rows = max(facts.identifying.items(), key=lambda item: item[1])
    return f"{rows:,} of {facts.present:,} values look like {what}", sum(facts.identifying.values()) / facts.present


def _unique(facts: ColumnFacts, hint: Hint) -> str:
    """Why a column is an identifier by how many values it has; "" if it is none."""
    said = f"{facts.uniqueness:.0%} of its values are different"
    measured = (
        hint.concept is not None and not hint.numbers and (facts.is_number or facts.is_date)
    )  # a salary, a birth date
    if facts.uniqueness >= NEARLY_UNIQUE and not measured and facts.whole.present > 1:
        return f"nearly unique: {said}"
    if hint.numbers and facts.uniqueness >= (KEYED if hint.concept is None else KEYED_OF_A_CONCEPT):
        return f"its name is that of a number, and {said}"
    if facts.length >= FREE_TEXT and facts.uniqueness >= KEYED:
        return f"free text ({facts.length:.0f} characters on average), which may name people"
    return ""


def looks_like_a_key(facts: ColumnFacts) -> bool:
    """Whether its values look like keys of which each is one person's, by their pattern, or by how many are different:
    whole numbers or short texts.
    """
    keys = sum(facts.identifying.get(what, 0) for what in OF_ONE)
    short = facts.kind in ("integer", "text") and not facts.is_date and facts.length < FREE_TEXT
    return (short and facts.uniqueness >= NEARLY_UNIQUE) or 2 * keys > facts.present


def _says_nothing(facts: ColumnFacts, hint: Hint) -> bool:
    """Whether a column may be published as it is: few values, all of them frequent, and a name of the table's own."""
    few = facts.whole.distinct <= MOST_VALUES and facts.distinct <= MOST_VALUES and facts.fewest >= FEWEST
    return few and not hint.codes and (hint.technical or (facts.distinct == 1 and not facts.whole.missing))
