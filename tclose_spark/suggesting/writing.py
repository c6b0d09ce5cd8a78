"""The chosen roles as a run file, with comments for the person responsible for the release."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from textwrap import wrap
from typing import Any, NamedTuple

import yaml
from jinja2 import Environment, PackageLoader, StrictUndefined

from tclose_spark.runfile.spec import Input
from tclose_spark.runfile.suggested import COMPARED
from tclose_spark.runfile.text import first_few
from tclose_spark.stages.warnings import FEW_PUBLISHED, repetition_warning
from tclose_spark.suggesting.choosing import ChosenRoles
from tclose_spark.suggesting.facts import K, least_k
from tclose_spark.suggesting.judging import SuggestedColumn, has_fractions
from tclose_spark.suggesting.settings import (
    ColumnSettings,
    no_settings,
    quasi_identifier_settings,
    sensitive_settings,
    share,
)
from tclose_spark.suggesting.unique_share import LARGEST, UniqueShare
from tclose_spark.table.column_names.hints import least_uniqueness
from tclose_spark.table.domains import Repetition
from tclose_spark.table.entities.finding import MOST_MEMBERS, Subjects
from tclose_spark.table.entities.wording import SubjectsWords

WIDTH = 116
PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
MOST_PAIRS = 3  # pairs whose share of unique rows is reported
PROPOSAL = (
    "# This proposal. Leave it as it is: the internal report of a release lists what was changed "
    "after it.\n"
)
MOST_ROWS = 20  # of a person on average, above which a name alone may be that of something else
MOST_CHANGING = 0.1  # share of people whose quasi-identifiers change, above which one label for all their rows is wide
ONE_PERSON_EACH = 0.999  # different values a row of an identifier of persons that does not repeat
MORE_THAN_ONE = 1.05  # rows of a household on average
NOT_READY = "Not ready:"
MOST_UNKNOWN = 0.5  # of rows without a person, above which a reader has to decide about them
WHICH_IS_SENSITIVE = "Decide what an adversary must not learn of a person"
# An estimated number of values below this share of rows means that an identifier repeats.
ONE_EACH = 0.9


@dataclass(frozen=True, kw_only=True)
class Draft:
    """The content of a run file.

    table, file: their names in its comments. columns: all, in the order of the table, each with its
        suggested role.
    rows, sampled: of the table, and of the sample.
    alone: the share of rows that are unique by sets of quasi-identifiers. rare: which of them make
        rows rare.
    subjects: whom the rows are about.
    repeated: identifiers of persons that repeat. changing: by those that may be `person`, the share
        of people with several rows whose quasi-identifiers change.
    tried: what a trial says of the run file, in sentences.
    """

    name: str
    table: str
    file: str
    source: Input
    output: str
    rows: int
    sampled: int
    columns: tuple[SuggestedColumn, ...]
    choice: ChosenRoles
    alone: tuple[UniqueShare, ...]
    rare: str
    repeated: tuple[Repetition, ...]
    k: int | None
    t: str
    subjects: Subjects = field(default_factory=Subjects)
    changing: Mapping[str, float] = field(default_factory=dict)
    tried: tuple[str, ...] = ()

    @property
    def apart(self) -> bool:
        """Whether the rows of a person may be in several classes, because they differ in
        quasi-identifiers.
        """
        return (
            self.person is not None and self.changing.get(self.person.column, 0.0) > MOST_CHANGING
        )

    @property
    def person(self) -> Repetition | None:
        """The direct identifier by which the run file counts people, if one repeats as that of a
        person may.
        """
        entity = self.subjects.first("person")
        direct = [one.name for one in self.choice.direct]
        found = () if entity is None else entity.columns
        people = [
            one
            for one in self.repeated
            if one.column in direct
            and ((one.column,) == found or one.rows <= MOST_ROWS * one.values)
        ]
        return max(people, key=lambda one: ((one.column,) == found, one.values), default=None)

    @property
    def household(self) -> Repetition | None:
        """The direct identifier of the households whose members are rows, unless people are
        counted.
        """
        if self.person is not None:
            return None
        households = [one for one in self.choice.direct if _is_household(one)]
        counted = [
            Repetition(one.name, one.facts.whole.present, one.facts.whole.distinct)
            for one in households
        ]
        return next(iter(counted), None)

    @property
    def owners(self) -> dict[str, str]:
        """The columns of the person and of the household of each row, by role."""
        one_of = {"person": self.person, "household": self.household}
        return {role: one.column for role, one in one_of.items() if one is not None}

    @property
    def weight(self) -> SuggestedColumn | None:
        """The column of survey weights, unless people are counted, who have no weights."""
        return self.choice.weights[0] if self.choice.weights and self.person is None else None

    @property
    def warnings(self) -> tuple[str, ...]:
        """About rows of the same persons, unless people are counted."""
        if self.person is not None:
            return ()
        notes = SubjectsWords().notes(self.subjects, household_known=self.household is not None)
        return (*map(repetition_warning, self.repeated), *notes)

    @property
    def coverage(self) -> str:
        """How many columns the release publishes, and which it leaves out, besides identifiers."""
        known = {one.name for one in (*self.choice.published, *self.choice.direct)}
        known |= {*self.owners.values()}
        left_out = [in_comment(one.name) for one in self.columns if one.name not in known]
        counted = f"publishes {len(self.choice.published)} of {len(self.columns)} columns"
        return f"{counted}; left out: {', '.join(left_out)}" if left_out else counted

    @property
    def unknown_share(self) -> float:
        """The share of rows without a person, or with a value that stands for none, if people are
        counted.
        """
        if self.person is None:
            return 0.0
        name = self.person.column
        facts = next(one.facts for one in self.choice.direct if one.name == name)
        return facts.whole.missing / self.rows + sum(facts.nobody.values()) / facts.sampled

    @property
    def decisions(self) -> tuple[str, ...]:
        """Why the run file is not ready, whatever a trial of it says."""
        published = len(self.choice.published)
        columns = len(self.columns) - len(self.choice.direct)
        decisions = []
        if not self.choice.sensitive:
            decisions.append(
                f"{NOT_READY} no column is known to be sensitive. {WHICH_IS_SENSITIVE}",
            )
        elif self.choice.is_guess:
            guess = in_comment(self.choice.sensitive[0].name)
            decisions.append(
                f"{NOT_READY} that {guess} is sensitive is a guess, from the form of its values. "
                f"{WHICH_IS_SENSITIVE}",
            )
        unknown = [in_comment(one.name) for one in self.choice.quasi if one.concept is None]
        if self.choice.are_guessed:
            decisions.append(
                f"{NOT_READY} no column is known to be a quasi-identifier. Decide what an "
                "adversary can know",
            )
        elif unknown:
            decisions.append(
                f"{NOT_READY} that {first_few(unknown)} can be known by an adversary is a guess, "
                "from the columns beside. Decide for each whether it is sensitive, or left out",
            )
        if self.unknown_share > MOST_UNKNOWN:
            decisions.append(
                f"{NOT_READY} {share(self.unknown_share)} of rows have no person. Decide what "
                "becomes of them (attributes.person.unknown)",
            )
        if published < FEW_PUBLISHED * columns:
            decisions.append(
                f"{NOT_READY} it {self.coverage.partition(';')[0]}. Decide what the others are",
            )
        return tuple(decisions)


class OwnerLine(NamedTuple):
    """The key of whom a row is about, as YAML. said: how often its values repeat. unknown: whether
    it says what becomes of rows without one.
    """

    key: str
    said: str
    unknown: bool = False


class ColumnLine(NamedTuple):
    """A column and its settings, as YAML, with its comments."""

    key: str
    settings: str
    said: tuple[str, ...]


def render_run_file(draft: Draft) -> str:
    """The run file."""
    choice = draft.choice
    spare = tuple(one for one in choice.weights if one is not draft.weight)
    whole = draft.sampled >= draft.rows
    environment = Environment(  # noqa: S701 - YAML, whose texts `scalar` quotes
        loader=PackageLoader("tclose_spark", "suggesting"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.globals["comments"] = comments
    text = environment.get_template("suggest.yaml.j2").render(
        name=scalar(draft.name),
        table=in_comment(draft.table),
        file=in_comment(draft.file),
        described=any(one.facts.phrase or one.facts.marked for one in draft.columns),
        looked_at=f"{draft.rows:,} rows"
        if whole
        else f"a sample of {draft.sampled:,} of {draft.rows:,} rows",
        in_the="in the table" if whole else "in the sample (in the table fewer are)",
        path=scalar(draft.source.path),
        format=draft.source.format,
        options=flow({key: _plain(value) for key, value in draft.source.options.items()}),
        renamed=flow(draft.source.columns),
        output=scalar(draft.output),
        person=draft.person and _person(draft, draft.person, whole),
        household=draft.household and _household(draft.household, whole),
        coverage=f"It {draft.coverage}",
        direct=[
            _shown(no_settings(one))
            for one in choice.direct
            if one.name not in draft.owners.values()
        ],
        quasi=[_shown(quasi_identifier_settings(one)) for one in choice.quasi],
        more_quasi=[
            _shown(quasi_identifier_settings(one, taken=False)) for one in choice.more_quasi
        ],
        sensitive=[_shown(sensitive_settings(one, draft.t)) for one in choice.sensitive],
        more_sensitive=[_shown(sensitive_settings(one, draft.t)) for one in choice.more_sensitive],
        insensitive=[_shown(no_settings(one)) for one in choice.insensitive],
        codes=flow(
            {
                one.name: list(one.facts.codes.rows)
                for one in choice.insensitive
                if one.facts.codes.rows
            },
        ),
        weight=draft.weight and _shown(no_settings(draft.weight)),
        groups=list(map(in_comment, choice.groups)),
        open=[_shown(no_settings(one)) for one in (*choice.open, *spare)],
        apart=draft.apart and share(draft.changing[draft.person.column] if draft.person else 0.0),
        tried=[*draft.tried, *draft.decisions],
        is_guess=choice.is_guess,
        few_rows=draft.k is None and least_k(draft.rows) < K,
        alone=list(_singled_out(draft)),
        crowded=[f"! {warning}" for warning in draft.warnings],
        k=draft.k or least_k(draft.rows),
    )
    if not choice.sensitive:  # no release can be made of it yet
        return text
    return f"{text}\n{PROPOSAL}{_proposal(yaml.safe_load(text))}"


def _person(draft: Draft, person: Repetition, exact: bool) -> OwnerLine:
    """The key `person`. exact: whether its values are counted, not estimated."""
    facts = next(one.facts for one in draft.choice.direct if one.name == person.column)
    settings: dict[str, str | list[str]] = {"column": person.column}
    if draft.apart:
        settings["rows"] = "apart"
    placeholders = list(facts.nobody)
    if placeholders:
        settings["placeholders"] = placeholders
    if placeholders or facts.whole.missing:
        settings["unknown"] = "alone"
    return OwnerLine(
        key=flow(settings) if len(settings) > 1 else scalar(person.column),
        said=_repeats(person, exact),
        unknown="unknown" in settings,
    )


def _household(household: Repetition, exact: bool) -> OwnerLine:
    """The key `household`. exact: whether its values are counted, not estimated."""
    return OwnerLine(key=scalar(household.column), said=_repeats(household, exact))


def _repeats(one: Repetition, exact: bool) -> str:
    """How often the values of a column repeat. exact: whether they are counted, not estimated."""
    return f"{'' if exact else 'about '}{one.values:,} values in {one.rows:,} rows"


def _proposal(tree: Mapping[str, object]) -> str:
    """The key `suggested` of a run file with this content."""
    suggested = {"suggested": {key: tree[key] for key in COMPARED}}
    return str(
        yaml.safe_dump(
            suggested,
            sort_keys=False,
            default_flow_style=None,
            allow_unicode=True,
            width=WIDTH,
        ),
    )


def repeated(choice: ChosenRoles, exact: bool) -> tuple[Repetition, ...]:
    """The identifiers of persons that repeat, among all columns but quasi-identifiers and sensitive
    ones.

    exact: whether values are counted, not estimated.
    """
    found = []
    numbered = any(map(_numbers_persons, choice.direct))
    for one in (*choice.direct, *choice.insensitive, *choice.open):
        facts = one.facts
        rows = facts.whole.present
        values = facts.whole.distinct
        least = least_uniqueness(facts.called, values)
        if one.hint.of_person and not one.hint.numbers and facts.identifying:
            continue  # the address of a client is none of a person
        if facts.entity is not None and facts.entity.columns != (one.name,):
            continue  # it identifies a person only with another column
        if facts.entity is not None and facts.entity.kind == "person":
            least = 0.0
        elif numbered or has_fractions(facts) or (facts.refuted and least != 0.0):
            continue
        if least is not None and least * rows <= values < rows * (1 if exact else ONE_EACH):
            found.append(Repetition(one.name, rows, values))
    return tuple(found)


def _numbers_persons(one: SuggestedColumn) -> bool:
    """Whether a column is called the number of a person, and is different in each row."""
    least = least_uniqueness(one.facts.called, one.facts.whole.distinct)
    return least == 0.0 and one.facts.uniqueness >= ONE_PERSON_EACH


def _is_household(one: SuggestedColumn) -> bool:
    """Whether a column groups rows like households, by its data, or by its name."""
    facts = one.facts
    if facts.entity is not None:
        return facts.entity.kind == "household"
    is_named = one.concept is not None and one.concept.name == "household number"
    return (
        is_named
        and MORE_THAN_ONE * facts.whole.distinct
        < facts.whole.present
        <= MOST_MEMBERS * facts.whole.distinct
    )


def scalar(text: str) -> str:
    """A text as a YAML scalar that reads back as the same text.

    >>> scalar("age"), scalar("no"), scalar("a: b"), scalar("12")
    ('age', '"no"', '"a: b"', '"12"')
    """
    if PLAIN.fullmatch(text) and yaml.safe_load(text) == text:
        return text
    return str(yaml.safe_dump(text, default_style='"', width=math.inf, allow_unicode=True)).strip()


def flow(value: Any) -> str:
    """Settings as YAML in one line.

    >>> flow({"type": "numeric", "text": {"strip": True}, "t": "0.2"})
    '{type: numeric, text: {strip: true}, t: 0.2}'
    """
    if isinstance(value, Mapping):
        return (
            f"{{{', '.join(f'{scalar(str(key))}: {flow(part)}' for key, part in value.items())}}}"
            if value
            else ""
        )
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"[{', '.join(map(flow, value))}]"
    if isinstance(value, bool):
        return str(value).lower()
    is_number = isinstance(value, int) or re.fullmatch(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", str(value))
    return str(value) if is_number else scalar(str(value))


def comments(said: Iterable[str], indent: int, further: str = "") -> str:
    """Comments in lines of at most WIDTH characters."""
    return "".join(
        f"{' ' * indent}# {further}{part}\n"
        for one in said
        for part in _folded(one, WIDTH - indent - len(further))
    )


def _folded(text: str, width: int) -> list[str]:
    return wrap(
        in_comment(text),
        width,
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )


def in_comment(text: str) -> str:
    """A text that cannot end a comment."""
    return "".join(c if c.isprintable() else " " for c in text)


def _shown(line: ColumnSettings) -> ColumnLine:
    return ColumnLine(
        key=scalar(line.name),
        settings=flow(line.settings) or "{}",
        said=line.said,
    )


def _plain(value: str) -> Any:
    return value == "true" if value in ("true", "false") else value


def _singled_out(draft: Draft) -> Sequence[str]:
    """The share of unique rows by pairs of columns, then by larger sets; and the columns that make
    rows rare.
    """
    pairs = [one for one in draft.alone if len(one.columns) == 2][:MOST_PAIRS]
    larger = [one for one in draft.alone if len(one.columns) > 2]
    said = [
        f"Alone by {'all of ' if len(one.columns) > LARGEST else ''}{', '.join(one.columns)}: "
        f"{share(one.share)}"
        for one in (*pairs, *larger)
    ]
    return [line for text in (*said, draft.rare) for line in _folded(text, WIDTH - 2)]
