"""The run file: YAML to a frozen, validated ReleaseSpec. Every error names the key, what was found and what was expected."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

import yaml
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, ValidationError, model_validator

from tclose_spark.errors import ConfigurationError
from tclose_spark.exact import parse_number
from tclose_spark.refusals import explain_problems
from tclose_spark.text import NormalForm, normal

URI = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]+:/")
VARIABLE = re.compile(r"\$\{(\w+)(?::-([^}]*))?\}")
MEASURE = "measure"


def exact_number(value: Any) -> Fraction:
    """A number exactly as it is written: 0.1 is one tenth."""
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal | str | Fraction):
        raise ValueError("expected a number")
    try:
        return parse_number(str(value))
    except ValueError:
        raise ValueError("expected a number such as 0.2") from None


def _closeness(value: Any) -> Fraction | None:
    """A t: above 0, at most 1; None for `measure`, which tells the distance and limits nothing."""
    if value == MEASURE:
        return None
    number = exact_number(value)
    if not 0 < number <= 1:
        raise ValueError("expected a number above 0 and at most 1, or measure")
    return number


def _option(value: Any) -> str:
    """A reader option as Spark wants it: text."""
    if not isinstance(value, str | int | Decimal):
        raise ValueError("expected a text, a number, or true or false")
    return str(value).lower() if isinstance(value, bool) else str(value)


Exact = Annotated[Fraction, BeforeValidator(exact_number), PlainSerializer(str)]
"""A rational number, exactly as the run file writes it."""


class Section(BaseModel):
    """A part of the run file: frozen, strictly typed, without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Input(Section):
    """Where the raw table is. For `format: table` the path is the table's name in the catalog."""

    path: str
    format: Literal["csv", "parquet", "delta", "table"] = "parquet"
    options: dict[str, Annotated[str, BeforeValidator(_option)]] = Field(default_factory=dict)


class Output(Section):
    """Where the release goes: one folder, or two where public and internal must live apart."""

    path: str | None = None
    public: str | None = None
    internal: str | None = None
    keep_linked: bool = False

    @model_validator(mode="after")
    def _one_way(self) -> Self:
        if (self.path is None) == (self.public is None or self.internal is None) or (self.path and (self.public or self.internal)):
            raise ValueError("expected either path, or both public and internal")
        public, internal = f"{self.public_path}/", f"{self.internal_path}/"
        if internal.startswith(public):
            raise ValueError("internal is public or lies in it; expected a folder that is not handed out")
        return self

    @property
    def public_path(self) -> str:
        """The folder of what is published."""
        return self.public or f"{self.path}/public"

    @property
    def internal_path(self) -> str:
        """The folder of what stays inside."""
        return self.internal or f"{self.path}/internal"


class Text(Section):
    """Which spellings of a text column are one value. They are made one when the table is read, and are published so."""

    normal_form: NormalForm | None = None
    strip: bool = False
    case: Literal["fold"] | None = None

    def of(self, value: str) -> str:
        """A text after these options."""
        return normal(value, self.normal_form, self.strip, self.case == "fold")


class QuasiIdentifier(Section):
    """A column that, with others, may tell who a record is about."""

    type: Literal["categorical", "numeric"] = "categorical"
    hierarchy: str | None = None
    round_to: Exact | None = None
    numeric_output: Literal["interval", "bounds"] = "interval"
    generalization: Literal["suppress", "set"] = "suppress"
    text: Text | None = None

    @property
    def is_numeric(self) -> bool:
        """Generalized to intervals; a hierarchy, where there is one, decides instead."""
        return self.type == "numeric" and self.hierarchy is None

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if not self.is_numeric and (self.round_to is not None or self.numeric_output != "interval"):
            raise ValueError("round_to and numeric_output are for type: numeric without a hierarchy")
        if (self.is_numeric or self.hierarchy) and self.generalization != "suppress":
            raise ValueError("generalization is for type: categorical without a hierarchy")
        if self.is_numeric and self.text is not None:
            raise ValueError("text is for columns of text; expected type: categorical")
        if self.round_to is not None and self.round_to <= 0:
            raise ValueError(f"round_to is {self.round_to}; expected a number above 0")
        return self


class Recursive(Section):
    """Recursive (c, l)-diversity: r_1 < c (r_l + ... + r_m)."""

    c: Exact
    l: Annotated[int, Field(ge=2)]  # noqa: E741 - the field's name for it


class Diversity(Section):
    """l-diversity asked of a sensitive attribute, any of three kinds."""

    distinct: Annotated[int, Field(ge=1)] | None = None
    entropy: Exact | None = None
    recursive: Recursive | None = None


class Bins(Section):
    """Bins of an ordered attribute's values, one of three kinds; fragments are cut between bins only. t is that of the values."""

    equal_width: Annotated[int, Field(ge=1)] | None = None
    equal_mass: Annotated[int, Field(ge=1)] | None = None
    edges: Annotated[tuple[Exact, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)] | None = None

    @model_validator(mode="after")
    def _one_kind(self) -> Self:
        if sum(kind is not None for kind in (self.equal_width, self.equal_mass, self.edges)) != 1:
            raise ValueError("expected one of equal_width: N, equal_mass: N, edges: [a, b, ..]")
        if self.edges is not None and (not self.edges or any(a >= b for a, b in pairwise(self.edges))):
            raise ValueError("edges are not ascending numbers")
        return self


PLACES_OF_MISSING = {"ordered": ("lowest", "highest"), "hierarchical": ("leaf",)}
"""Where missing values may be put, by distance; for an equal distance they are a value like others."""


class SensitiveAttribute(Section):
    """A column whose distribution in every class must be near that of the table.

    t: None where it is `measure`, or not said (then there is an l; only an audit asks for neither).
    """

    distance: Literal["equal", "ordered", "hierarchical"] = "equal"
    t: Annotated[Fraction | None, BeforeValidator(_closeness), PlainSerializer(lambda t: MEASURE if t is None else str(t))] = None
    order: Literal["value", "frequency"] | Annotated[tuple[Any, ...], BeforeValidator(lambda v: tuple(v) if isinstance(v, list) else v)] = (
        "value"
    )
    hierarchy: str | None = None
    missing: Literal["error", "lowest", "highest", "leaf"] = "error"
    l: Diversity = Diversity()  # noqa: E741 - the field's name for it
    bins: Bins | None = None
    text: Text | None = None

    @model_validator(mode="before")
    @classmethod
    def _said(cls, value: Any) -> Any:
        """A t of null is none, so that a t that is set and None is `measure`."""
        return {key: part for key, part in value.items() if key != "t" or part is not None} if isinstance(value, dict) else value

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if (self.distance == "hierarchical") != (self.hierarchy is not None):
            raise ValueError("distance: hierarchical needs a hierarchy, and only that distance takes one")
        if isinstance(self.order, tuple):
            _require_order(self.order)
        if self.distance != "ordered" and self.order != "value":
            raise ValueError("order is for distance: ordered")
        if self.missing not in ("error", *PLACES_OF_MISSING.get(self.distance, ())):
            raise ValueError(
                f"missing is {self.missing}; expected error, lowest or highest for distance: ordered, error or leaf for hierarchical"
            )
        if self.bins is not None and (self.distance != "ordered" or self.order != "value"):
            raise ValueError("bins are for distance: ordered by value")
        return self

    @property
    def limited(self) -> bool:
        """Whether anything that is asked can be broken: a t below 1, an l above 1."""
        close = self.t is not None and self.t < 1
        return close or (self.l.distinct or 1) > 1 or (self.l.entropy or 1) > 1 or self.l.recursive is not None


def _require_order(order: Sequence[Any]) -> None:
    """Raises ValueError for a list that is no order of values. A value more in it would make every distance smaller."""
    if not order:
        raise ValueError("order is an empty list; expected all values, lowest first")
    for place, value in enumerate(order, start=1):
        if value is None:
            raise ValueError(
                f"order holds null (place {place}), which is no value; missing: lowest or highest says where missing values are"
            )
        if isinstance(value, list | dict):
            raise ValueError(f"order holds {value!r} (place {place}); expected values only")
    text, times = Counter(map(value_text, order)).most_common(1)[0]
    if times > 1:
        raise ValueError(f"order holds {text!r} {times} times; expected every value once")


def value_text(value: Any) -> str:
    """A value of the run file as the table's values are written."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _protected(attribute: SensitiveAttribute) -> SensitiveAttribute:
    if "t" not in attribute.model_fields_set and attribute.l == Diversity():
        raise ValueError(
            "nothing is asked of it; expected a t (a number above 0 and at most 1), an l (such as {distinct: 3}), or "
            "t: measure (the distance is told and not limited, and the verdict says that the attribute is unprotected)"
        )
    return attribute


class Attributes(Section):
    """Which column is what."""

    direct_identifiers: tuple[str, ...] = ()
    quasi_identifiers: dict[str, QuasiIdentifier] = Field(min_length=1)
    sensitive_attributes: dict[str, Annotated[SensitiveAttribute, AfterValidator(_protected)]] = Field(min_length=1)
    insensitive_attributes: tuple[str, ...] = ()
    drop_others: bool = False
    allow_unique: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _lists(cls, value: Any) -> Any:
        """YAML lists to tuples; an attribute without settings (`sex:`) has the default ones."""
        if not isinstance(value, dict):
            return value
        value = {key: tuple(part) if isinstance(part, list) else part for key, part in value.items()}
        for key in ("quasi_identifiers", "sensitive_attributes"):
            if isinstance(value.get(key), dict):
                value[key] = {name: {} if part is None else part for name, part in value[key].items()}
        for key in ("direct_identifiers", "insensitive_attributes", "allow_unique"):
            if value.get(key, ()) is None:
                value[key] = ()
        return value

    @model_validator(mode="after")
    def _one_role(self) -> Self:
        roles: dict[str, str] = {}
        for role in ("direct_identifiers", "quasi_identifiers", "sensitive_attributes", "insensitive_attributes"):
            for column in getattr(self, role):
                if column in roles:
                    raise ValueError(f"column {column!r} is in {roles[column]} and in {role}; expected one role for a column")
                roles[column] = role
        for column in self.allow_unique:
            if column not in self.insensitive_attributes:
                raise ValueError(f"allow_unique names {column!r}, which is not in insensitive_attributes")
        return self

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of a release, in order (before `numeric_output: bounds` splits one in two)."""
        return (*self.quasi_identifiers, *self.sensitive_attributes, *self.insensitive_attributes)


class Privacy(Section):
    """The smallest class that may be published."""

    k: Annotated[int, Field(ge=2)]


class StackAndDeal(Section):
    """Stack & Deal (Gowda 2023, ch. 3 and 5)."""

    makes_l: ClassVar = ("distinct", "entropy", "recursive")
    name: Literal["stack_and_deal"] = "stack_and_deal"
    stack_order: Literal["value", "frequency", "best"] | None = None
    deal: Literal["local", "round_robin", "layered"] = "local"
    class_size: Literal["auto", "k"] = "auto"


def _effort(value: Any) -> Any:
    if value in ("fast", "balanced", "thorough") or (isinstance(value, int) and not isinstance(value, bool) and value >= 0):
        return value
    raise ValueError("expected fast, balanced, thorough, or a number of sweeps over the rows (0 or more)")


class ClosenessTree(Section):
    """Carve a tree of valid classes, then exchange rows. effort: in work, not in time; a number is sweeps over the rows."""

    makes_l: ClassVar = ("distinct",)
    name: Literal["closeness_tree"] = "closeness_tree"
    effort: Annotated[Literal["fast", "balanced", "thorough"] | int, BeforeValidator(_effort)] = "balanced"


def _seconds(value: Any) -> Fraction:
    number = exact_number(value)
    if number <= 0:
        raise ValueError("expected a number of seconds above 0")
    return number


class Fragmentation(Section):
    """Fragmentation of the multiplicity matrix (Gowda 2023, ch. 4; Weber, ch. 3).

    most_fragments: where the search ends. search_seconds: without a fragmentation that meets every t by then, nothing is released.
    """

    makes_l: ClassVar = ()
    name: Literal["fragmentation"] = "fragmentation"
    sizing: Literal["proportional", "measured", "gcd"] = "proportional"
    bounds: Literal["domain", "paper"] = "domain"
    most_fragments: Annotated[int, Field(ge=1, le=10_000)] = 500
    search_seconds: Annotated[Fraction, BeforeValidator(_seconds), PlainSerializer(str)] = Fraction(300)


METHODS: tuple[type[StackAndDeal] | type[Fragmentation] | type[ClosenessTree], ...] = (ClosenessTree, StackAndDeal, Fragmentation)


def _named(value: Any) -> Any:
    """A method without a name is the closeness tree."""
    return {"name": "closeness_tree", **value} if isinstance(value, dict) else value


class ReleaseSpec(Section):
    """One run: which table, which columns are what, how much privacy, by which method."""

    name: Annotated[str, Field(min_length=1)]
    input: Input
    output: Output
    attributes: Attributes
    privacy: Privacy
    method: Annotated[StackAndDeal | Fragmentation | ClosenessTree, Field(discriminator="name"), BeforeValidator(_named)] = ClosenessTree()

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for folder in (self.output.public_path, self.output.internal_path):
            if f"{folder}/".startswith(f"{self.input.path}/"):
                raise ValueError(f"output: {folder} lies in the input {self.input.path}; expected a folder elsewhere")
        return self

    @model_validator(mode="after")
    def _makes_l(self) -> Self:
        """A kind of l that is asked is one that the method makes."""
        for name, attribute in self.attributes.sensitive_attributes.items():
            for kind in Diversity.model_fields:
                if getattr(attribute.l, kind) is not None and kind not in self.method.makes_l:
                    able = [method.model_fields["name"].default for method in METHODS if kind in method.makes_l]
                    raise ValueError(
                        f"attributes.sensitive_attributes.{name}.l.{kind}: method {self.method.name} makes no {kind} l; "
                        f"expected method: {{name: {' or '.join(able)}}}, or this key left out"
                    )
        return self

    @model_validator(mode="after")
    def _fit_for_fragmentation(self) -> Self:
        sensitive = self.attributes.sensitive_attributes
        if not isinstance(self.method, Fragmentation):
            for name, attribute in sensitive.items():
                if attribute.bins is not None:
                    raise ValueError(f"attributes.sensitive_attributes.{name}.bins is for method: fragmentation")
            return self
        if all(attribute.t is None for attribute in sensitive.values()):
            raise ValueError("method: fragmentation needs a t of at least one sensitive attribute")
        for name, attribute in sensitive.items():
            if self.method.bounds == "paper" and attribute.distance != "ordered":
                raise ValueError(
                    f"method.bounds: paper is for ordered distances only, and that of {name} is {attribute.distance}; use domain"
                )
        return self

    @property
    def fingerprint(self) -> str:
        """SHA-256 of what decides the release: everything but its name and where it is written."""
        decisive = self.model_dump(mode="json", exclude={"name", "output"})
        return hashlib.sha256(json.dumps(decisive, sort_keys=True, default=str).encode()).hexdigest()


class _Loader(yaml.SafeLoader):
    """Safe YAML in which a decimal number keeps its digits and a key may not stand twice."""


def _decimal(loader: yaml.SafeLoader, node: yaml.ScalarNode) -> Decimal | float:
    text = node.value.replace("_", "")
    return float(loader.construct_yaml_float(node)) if set(text.lower()) & set(":infa") - {"e"} else Decimal(text)


def _mapping(loader: yaml.SafeLoader, node: yaml.MappingNode) -> dict[Any, Any]:
    keys = [loader.construct_object(key, deep=True) for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigurationError(f"key {key!r} stands twice (line {node.start_mark.line + 1} and below)")
    return loader.construct_mapping(node, deep=True)


_Loader.add_constructor("tag:yaml.org,2002:float", _decimal)
_Loader.add_constructor("tag:yaml.org,2002:map", _mapping)


def _parse_yaml(text: str, where: str) -> Any:
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a SafeLoader
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        raise ConfigurationError(f"{where}{place}: not valid YAML: {getattr(error, 'problem', error)}") from None
    except (ValueError, TypeError, ArithmeticError) as error:  # a date that is none, a list as a key
        raise ConfigurationError(f"{where}: not valid YAML: {error}") from None


def expand(text: str, key: str) -> str:
    """`text` with ${NAME} and ${NAME:-default} replaced from the environment.

    Raises:
        ConfigurationError: if a variable without a default is not set.
    """

    def value(match: re.Match[str]) -> str:
        found = os.environ.get(match[1]) or match[2]
        if found is None:
            raise ConfigurationError(
                f"{key}: the environment variable {match[1]} is not set or empty; set it, or write ${{{match[1]}:-default}}"
            )
        return found

    return VARIABLE.sub(value, text)


def resolve(text: str, key: str, folder: Path) -> str:
    """A path of the run file: variables expanded, relative to the file's folder; a URI stays as it is."""
    text = expand(text, key)
    return text if URI.match(text) else str((folder / text).resolve())


def _resolve_paths(tree: dict[str, Any], folder: Path) -> None:
    """Resolves every path in a raw run file, in place; what is not of the expected shape is left to validation."""

    def at(section: Any, names: Sequence[str], key: str) -> None:
        for name in names:
            if isinstance(section, dict) and isinstance(section.get(name), str):
                section[name] = resolve(section[name], f"{key}.{name}", folder)

    source = tree.get("input")
    if isinstance(source, dict) and source.get("format") == "table" and isinstance(source.get("path"), str):
        source["path"] = expand(source["path"], "input.path")
    else:
        at(source, ["path"], "input")
    at(tree.get("output"), ["path", "public", "internal"], "output")
    attributes = tree.get("attributes")
    for role in ("quasi_identifiers", "sensitive_attributes"):
        columns = attributes.get(role) if isinstance(attributes, dict) else None
        for column, settings in columns.items() if isinstance(columns, dict) else ():
            at(settings, ["hierarchy"], f"attributes.{role}.{column}")


def _override(tree: dict[str, Any], assignment: str) -> None:
    """Applies one `--set key.path=value` in place; the value is YAML. Longest keys of the file win, so columns may hold dots."""
    path, separator, text = assignment.partition("=")
    if not separator or not path:
        raise ConfigurationError(f"--set {assignment}: expected key.path=value")
    section: Any = tree
    steps = path.split(".")
    while True:
        if not isinstance(section, dict):
            raise ConfigurationError(f"--set {assignment}: {path!r} leads into {section!r}, which has no keys")
        known = [n for n in range(len(steps), 0, -1) if ".".join(steps[:n]) in section]
        head = ".".join(steps[: known[0] if known else 1])
        steps = steps[known[0] if known else 1 :]
        if not steps:
            section[head] = _parse_yaml(text, f"--set {path}")
            return
        if section.get(head) is None:
            section[head] = {}
        section = section[head]


def explain(error: ValidationError) -> str:
    """One line a problem: the key, what was found, what was expected."""
    return explain_problems(error, {key for section in Section.__subclasses__() for key in section.model_fields})


def load_spec(path: Path, overrides: Sequence[str] = ()) -> ReleaseSpec:
    """The spec in a run file, with `key.path=value` overrides applied and all paths resolved.

    Raises:
        ConfigurationError: naming the key, what was found, and what was expected.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"the run file {path} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(f"the run file {path} is no text in UTF-8") from None
    tree = _parse_yaml(text, str(path))
    if not isinstance(tree, dict):
        raise ConfigurationError(f"{path}: expected keys such as input, output, attributes and privacy; see conf/ for examples")
    for assignment in overrides:
        _override(tree, assignment)
    _resolve_paths(tree, path.resolve().parent)
    try:
        return ReleaseSpec.model_validate(tree)
    except ValidationError as error:
        raise ConfigurationError(explain(error)) from None
