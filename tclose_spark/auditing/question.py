"""The question of an audit: the roles of a table's columns, and the requirements."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

from pydantic import BeforeValidator, Field, ValidationError, model_validator

from tclose_spark.auditing.cells import Levels, Thresholds, parse_thresholds
from tclose_spark.auditing.options import DEFAULTS
from tclose_spark.errors import ConfigurationError
from tclose_spark.io.input.table_argument import guess_format
from tclose_spark.runfile.attributes import QuasiIdentifier, SensitiveAttribute
from tclose_spark.runfile.combinations import A_T, AGGREGATES, OF_AUDIT
from tclose_spark.runfile.joint import JointCloseness, require_attributes
from tclose_spark.runfile.loading import explain, resolve
from tclose_spark.runfile.missing import MissingValues
from tclose_spark.runfile.people import Household, Person
from tclose_spark.runfile.population import THRESHOLD, Population, Share
from tclose_spark.runfile.quantities import LARGEST_COUNT
from tclose_spark.runfile.section import Section
from tclose_spark.runfile.spec import ReleaseSpec
from tclose_spark.table.hierarchies.building import built_columns, file_of

KNOWN_SETTINGS = (
    "t=0.1, l=3, entropy=2.5, recursive=3:2 (c:l), frequency=3, beta=2, order=frequency or "
    "order=low|mid|high, equal_width=10 or step=1, missing=lowest (or highest, leaf), "
    "hierarchy=FILE"
)
Count = Annotated[int, Field(ge=1, le=LARGEST_COUNT)]
DISTANCE = re.compile(r":((?:equal|ordered|hierarchical)(?::.*)?)$", re.DOTALL)


def parse_household(said: Any) -> Any:
    """The settings of `COLUMN` or `COLUMN:K`.

    >>> parse_household("hh:3"), parse_household("hh")
    ({'column': 'hh', 'k': 3}, {'column': 'hh'})
    """
    if not isinstance(said, str):
        return said
    column, _, k = said.rpartition(":")
    return {"column": column, "k": int(k)} if column and k.isdigit() else {"column": said}


def parse_person(said: Any) -> Any:
    """A person's column as settings, from `COLUMN`, `COLUMN:drop`, or `COLUMN:alone:-,0` with
    placeholders.

    >>> parse_person("id"), parse_person("id:drop:-,0")
    ({'column': 'id'}, {'column': 'id', 'unknown': 'drop', 'placeholders': ['-', '0']})
    """
    if not isinstance(said, str):
        return said
    found = re.fullmatch(r"(.+?):(drop|alone)(?::(.+))?", said)
    if found is None:
        return {"column": said}
    column, unknown, listed = found.groups()
    return {"column": column, "unknown": unknown} | (
        {"placeholders": listed.split(",")} if listed else {}
    )


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
    person: Annotated[Person | None, BeforeValidator(parse_person)] = None
    """The column that identifies people, who may have several rows."""
    rows_are_persons: bool = False
    """Each row is a person, whatever columns group rows."""
    household: Annotated[Household | None, BeforeValidator(parse_household)] = None
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

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        made = [
            *self.labels,
            *self.sensitive_attributes,
            *self.persons,
            *self.households,
            *self.weights,
        ]
        for column in made:
            if made.count(column) > 1:
                raise ValueError(
                    f"column {column!r} has two roles, or is both a bound and a quasi-identifier; "
                    "expected one role"
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
    quasi_identifiers: Sequence[str] | Mapping[str, Mapping[str, Any]],
    sensitive: Mapping[str, Mapping[str, Any]] | None = None,
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
            "role"
        )
    if t is not None and not sensitive:
        raise ConfigurationError(
            f"t is {t}, but there is no sensitive attribute; give --sensitive COLUMN:DISTANCE"
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
        raise ConfigurationError(explain(error)) from None


def question_from_run_file(
    spec: ReleaseSpec,
    *,
    k: int | None = None,
    n: int | None = None,
    person: str | None = None,
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
            "another form"
        )
    attributes = spec.attributes
    sensitive = {  # t: measure is None
        name: {key: value for key in a.model_fields_set if (value := getattr(a, key)) is not None}
        for name, a in attributes.sensitive_attributes.items()
    }
    quasi = {
        name: {key: getattr(q, key) for key in q.model_fields_set}
        for name, q in attributes.quasi_identifiers.items()
    }
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
            update={"placeholders": None}
        )  # `missing_values_of` has them
    how = {"renamed": spec.input.columns, "missing_values_of": spec.missing_values}
    stated = bool(attributes.rows_are_persons)
    return question.model_copy(
        update={**how, "unjudged_person": of_run, "rows_are_persons": stated}
    )


def parse_sensitive(texts: Sequence[str], folder: Path) -> dict[str, dict[str, Any]]:
    """The settings by column of texts such as `salary:ordered:t=0.1,l=3`. Paths are relative to the
    folder.

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    attributes: dict[str, dict[str, Any]] = {}
    for text in texts:
        known = DISTANCE.search(text)  # a name may have colons
        name, rest = (text[: known.start()], known[1]) if known else text.partition(":")[::2]
        distance, _, settings = rest.partition(":")
        if not name:
            raise ConfigurationError(
                f"--sensitive {text}: expected COLUMN:DISTANCE:SETTINGS, such as "
                "salary:ordered:t=0.1"
            )
        if name in attributes:
            raise ConfigurationError(f"--sensitive {text}: column {name!r} is listed twice")
        attributes[name] = {"distance": distance or "equal", **_settings(text, settings, folder)}
    return attributes


def _settings(text: str, settings: str, folder: Path) -> dict[str, Any]:
    attribute: dict[str, Any] = {}
    diversity: dict[str, Any] = {}
    for part in settings.split(",") if settings else ():
        key, equals, value = part.partition("=")
        if not equals or not value:
            raise ConfigurationError(
                f"--sensitive {text}: found {part!r}; expected settings such as {KNOWN_SETTINGS}"
            )
        if key in attribute or key in diversity or (key == "l" and "distinct" in diversity):
            raise ConfigurationError(f"--sensitive {text}: {key} is listed twice")
        if key in ("t", "beta", "missing"):
            attribute[key] = value
        elif key in ("equal_width", "step"):
            attribute["domain"] = {key: _whole(text, key, value) if key == "equal_width" else value}
        elif key == "hierarchy":
            attribute[key] = resolve(value, f"--sensitive {text}", folder)
        elif key == "order":
            attribute[key] = value if value in ("value", "frequency") else value.split("|")
        elif key == "l":
            diversity["distinct"] = _whole(text, key, value)
        elif key in ("entropy", "frequency"):
            diversity[key] = value
        elif key == "recursive":
            c, colon, level = value.partition(":")
            if not colon:
                raise ConfigurationError(
                    f"--sensitive {text}: found recursive={value}; expected c and l, such as "
                    "recursive=3:2"
                )
            diversity[key] = {"c": c, "l": _whole(text, key, level)}
        else:
            raise ConfigurationError(
                f"--sensitive {text}: unknown setting {key!r}; expected {KNOWN_SETTINGS}"
            )
    return {**attribute, "l": diversity} if diversity else attribute


def _whole(text: str, key: str, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ConfigurationError(
            f"--sensitive {text}: {key} is {value!r}; expected a whole number"
        ) from None


def parse_joint(text: str) -> dict[str, Any]:
    """The joint closeness of a text such as `disease,income:0.3`.

    >>> parse_joint("disease,income:0.3")
    {'attributes': ['disease', 'income'], 't': '0.3'}

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    names, colon, t = text.rpartition(":")
    if not colon or "," not in names or not t:
        raise ConfigurationError(
            f"--joint {text}: expected sensitive attributes and their t, such as "
            "disease,income:0.3 (or :measure)"
        )
    return {"attributes": names.split(","), "t": t}


def parse_population(text: str, folder: Path) -> Population:
    """The population of a text: a sampling fraction, `weight:COLUMN` or `table:TABLE`. Paths are
    relative to the folder.

    >>> parse_population("1/20", Path()).fraction
    Fraction(1, 20)

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    kind, _, rest = text.partition(":")
    given = {kind: rest} if rest and kind in ("weight", "table") else {"fraction": text}
    if "table" in given and guess_format(rest) != "table":
        given["table"] = resolve(rest, "--population", folder)
    try:
        return Population.model_validate(given)
    except ValidationError:
        raise ConfigurationError(
            f"--population {text}: expected a sampling fraction such as 0.05 (at least 1e-12, and "
            "at most 1), weight:COLUMN, or table:TABLE"
        ) from None


def parse_quasi_identifiers(
    names: Sequence[str], hierarchies: Sequence[str], folder: Path
) -> dict[str, dict[str, Any]]:
    """The settings by column of names separated by commas, and of hierarchies such as
    `zip=zip.csv`.

    Raises:
        ConfigurationError: naming the text and what was expected.
    """
    columns = [name for text in names for name in text.split(",")]
    attributes: dict[str, dict[str, Any]] = {}
    for name in columns:
        if not name or name in attributes:
            raise ConfigurationError(
                "--quasi-identifiers: "
                f"{'a name is empty' if not name else f'column {name!r} is listed twice'}"
            )
        attributes[name] = {}
    for text in hierarchies:
        name, _, path = text.partition("=")
        if name not in attributes or not path:
            raise ConfigurationError(
                f"--hierarchy {text}: expected COLUMN=FILE of a quasi-identifier "
                f"({', '.join(attributes)})"
            )
        attributes[name] = {"hierarchy": resolve(path, f"--hierarchy {name}", folder)}
    return attributes
