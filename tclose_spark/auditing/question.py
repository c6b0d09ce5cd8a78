"""The question of an audit: the roles of a table's columns, and the requirements."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, ClassVar, Self

from pydantic import Field, ValidationError, model_validator

from tclose_spark.auditing.options import DEFAULTS
from tclose_spark.auditing.short_forms import Levels, Thresholds, parse_joint, parse_thresholds
from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.columns import HouseholdColumn, MissingValues, Person, PersonColumn
from tclose_spark.runfile.combinations import A_T, AGGREGATES, OF_AUDIT
from tclose_spark.runfile.loading import explain_error
from tclose_spark.runfile.privacy import (
    THRESHOLD,
    JointCloseness,
    Population,
    Share,
    require_attributes,
)
from tclose_spark.runfile.quantities import LARGEST_COUNT
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import AUTO, ReleaseSpec
from tclose_spark.table.hierarchies.building import built_columns, file_of

Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]


class AuditQuestion(Section):
    """Columns and requirements. Measures without a threshold are reported, but do not affect the
    verdict.
    """

    keys_together = OF_AUDIT
    decided_by: ClassVar = {AGGREGATES: "aggregates", A_T: "sensitive_attributes.*.t"}
    quasi_identifiers: Annotated[dict[str, QuasiIdentifier], Field(min_length=1)]
    sensitive_attributes: dict[str, SensitiveAttribute] = Field(default_factory=dict)
    k: Count | None = None
    n: Count | None = None
    """Classes must be close to a natural superset of at least n records instead of the whole
    table.
    """
    joint: tuple[JointCloseness, ...] = ()
    """Closeness of several sensitive attributes together."""
    gain: Share = Fraction(DEFAULTS["gain"])
    """A rise in belief above which a class counts as exposed to an attack."""
    aggregates: bool = False
    """The published values are aggregates of classes, and not labels that cover the values of their
    rows.
    """
    person: PersonColumn | None = None
    """The column that identifies people, who may have several rows."""
    rows_are_persons: bool = False
    """Each row is a person, whatever columns group rows."""
    household: HouseholdColumn | None = None
    """The column that identifies households, and how many of them a class needs."""
    population: Population | None = None
    """The population that the table is a sample of."""
    reidentified: Share | None = None
    """The share of expected re-identifications for which the individual risk has a threshold."""
    threshold: Share | None = None
    """The chance of re-identification above which a record counts as at risk; by default
    THRESHOLD.
    """
    attacks: bool = DEFAULTS["attacks"]
    """Whether to measure attacks, and the tuples of several attributes."""
    supersets: int = DEFAULTS["supersets"]
    """How many boxes of labels the search for (n, t)-closeness examines."""
    special_uniques: int | None = None
    """The largest minimal sample unique to search for; None to search for none."""
    cells: Count | None = None
    """The largest combinations of quasi-identifiers to count the cells of; None for none."""
    below: Thresholds = parse_thresholds(DEFAULTS["below"])
    """The rows below which a cell is rare; or such a threshold for each size of a combination."""
    levels: Levels | None = None
    """Identification levels: only quasi-identifiers of different levels are combined, and none of
    level 0.
    """
    combinations: int = DEFAULTS["combinations"]
    """How many combinations of quasi-identifiers are examined for special uniques, and for
    cells.
    """
    classes_output: str | None = None
    """The path to write the class table to, as Delta."""
    unjudged_person: Person | None = None
    """The person of a run file. Nothing is judged over people of a table without the column, such
    as a release.
    """
    renamed: dict[str, str] = Field(default_factory=dict)
    """New names of columns by those that a table may have in their place, as the input of a run
    file does.
    """
    missing_values_of: dict[str, MissingValues] = Field(default_factory=dict)
    """By column, the codes of a run file that are read as missing."""
    engine_of_run_file: str = AUTO
    """The engine that a run file asks for."""

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        made = [column for columns in self.roles.values() for column in columns]
        for column in made:
            if made.count(column) > 1:
                raise ValueError(
                    f"column {column!r} has two roles, or is both a bound and a quasi-identifier; "
                    "expected one role",
                )
        require_attributes(self.joint, self.sensitive_attributes, "joint")
        return self

    def judging_people(self, columns: Collection[str]) -> AuditQuestion:
        """The question about a table with these columns: over people, if one is that of the run
        file's person, and nothing in the question is about rows only.
        """
        person = self.unjudged_person
        if person is None or person.column not in columns or self.n is not None or self.weights:
            return self
        return self.model_copy(update={"person": person, "unjudged_person": None})

    @property
    def columns(self) -> dict[str, tuple[str, ...]]:
        """The table's columns of each quasi-identifier: itself, or its two bounds."""
        return {
            name: (f"{name}_min", f"{name}_max") if quasi.numeric_output == "bounds" else (name,)
            for name, quasi in self.quasi_identifiers.items()
        }

    @property
    def labels(self) -> list[str]:
        """The columns that define the equivalence classes."""
        return [column for columns in self.columns.values() for column in columns]

    @property
    def roles(self) -> dict[str, list[str]]:
        """The table's columns by role."""
        return {
            "quasi-identifier": self.labels,
            "sensitive attribute": list(self.sensitive_attributes),
            "weight": self.weights,
            "person": self.persons,
            "household": self.households,
        }

    @property
    def weights(self) -> list[str]:
        """The column that weighs rows by the population; none without such a column."""
        return (
            [self.population.weight]
            if self.population is not None and self.population.weight is not None
            else []
        )

    @property
    def at_risk(self) -> Fraction:
        """The threshold of the shares of records at risk."""
        return THRESHOLD if self.threshold is None else self.threshold

    @property
    def missing_values(self) -> dict[str, MissingValues]:
        """By column, the codes that are read as missing."""
        own: dict[str, QuasiIdentifier | SensitiveAttribute] = {
            **self.quasi_identifiers,
            **self.sensitive_attributes,
        }
        codes = {name: one.missing_values for name, one in own.items()} | self.missing_values_of
        if self.person is not None and self.person.placeholders:
            codes[self.person.column] = self.person.placeholders
        return codes

    @property
    def households(self) -> list[str]:
        """The column that identifies households; none if they are not known."""
        return [] if self.household is None else [self.household.column]

    @property
    def persons(self) -> list[str]:
        """The column that identifies people; none if a row is taken for a person."""
        return [] if self.person is None else [self.person.column]


def question_from_columns(
    quasi_identifiers: Sequence[str] | Mapping[str, Mapping[str, object]],
    sensitive: Mapping[str, Mapping[str, object]] | None = None,
    *,
    t: Any = None,
    missing: str | None = None,
    joint: Sequence[Any] = (),
    **asked: Any,
) -> AuditQuestion:
    """The question about columns with settings as in a run file.

        question_from_columns(["age", "zip"], {"salary": {"distance": "ordered", "t": 0.1}}, k=5)

    t: of the sensitive attributes without their own.
    missing: `any` or `value`, of every quasi-identifier; None for what the settings of each say.
    joint: closeness of several sensitive attributes together, as in a run file or as text (see
        `parse_joint`).
    asked: the other fields of the question.

    Raises:
        ConfigurationError: naming the column or key, what was observed, and what was expected.
    """
    quasi = (
        quasi_identifiers
        if isinstance(quasi_identifiers, Mapping)
        else {name: {} for name in quasi_identifiers}
    )
    if missing not in (None, "any", "value"):
        raise ConfigurationError(f"missing is {missing!r}; expected any or value")
    if missing is not None:
        quasi = {name: {**settings, "missing": missing} for name, settings in quasi.items()}
    if len(quasi) < len(quasi_identifiers):
        raise ConfigurationError("quasi_identifiers: a column is listed twice")
    both = set(quasi) & set(sensitive or {})
    if both:
        raise ConfigurationError(
            f"column {min(both)!r} is a quasi-identifier and a sensitive attribute; expected one "
            "role",
        )
    if t is not None and not sensitive:
        raise ConfigurationError(
            f"t is {t}, but there is no sensitive attribute; give --sensitive COLUMN:DISTANCE",
        )
    own = {
        name: dict(settings) if t is None or settings.get("t") is not None else {**settings, "t": t}
        for name, settings in (sensitive or {}).items()
    }
    try:
        columns = {
            "quasi_identifiers": {q: dict(v) for q, v in quasi.items()},
            "sensitive_attributes": own,
        }
        together = tuple(parse_joint(one) if isinstance(one, str) else one for one in joint)
        return AuditQuestion.model_validate({**columns, **asked, "joint": together})
    except ValidationError as error:
        raise ConfigurationError(explain_error(error)) from None


def question_from_run_file(
    spec: ReleaseSpec,
    *,
    k: int | None = None,
    n: int | None = None,
    person: Any = None,
    joint: Sequence[Any] = (),
    **asked: Any,
) -> AuditQuestion:
    """The question that a run file answers. k, n, missing and joint replace its own; t is of the
    attributes without their own. Hierarchies that it builds are read from its finished release. Its
    person is judged if the table has that column, which a release has not (see `judging_people`).
    asked: the other arguments of `question_from_columns`.

    Raises:
        ConfigurationError: naming the key, what was observed, and what was expected.
    """
    if not spec.release.is_plain:
        raise ConfigurationError(
            "release: `tclose audit` judges tables of labels; `tclose verify` judges a release in "
            "another form",
        )
    attributes = spec.attributes
    sensitive = {name: a.own_settings for name, a in attributes.sensitive_attributes.items()}
    quasi = {name: q.own_settings for name, q in attributes.quasi_identifiers.items()}
    for name in built_columns(attributes):
        (quasi if name in quasi else sensitive)[name]["hierarchy"] = (
            f"{spec.output.internal_path}/{file_of(name)}"
        )
    if k is None and spec.privacy.alpha is None:  # with alpha, k is chosen by the release
        k = spec.privacy.k
    question = question_from_columns(
        quasi,
        sensitive,
        k=k,
        n=spec.privacy.n if n is None else n,
        person=person,
        joint=joint or spec.privacy.joint or (),
        aggregates=bool(spec.aggregates),
        **asked,
    )
    of_run = None
    if attributes.person is not None and person is None:
        of_run = attributes.person.model_copy(
            update={"placeholders": None},
        )  # `missing_values_of` has them
    return question.model_copy(
        update={
            "renamed": spec.input.columns,
            "missing_values_of": spec.missing_values,
            "unjudged_person": of_run,
            "rows_are_persons": bool(attributes.rows_are_persons),
            "engine_of_run_file": spec.engine,
        },
    )
