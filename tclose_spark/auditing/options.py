"""The options of an audit and of an explanation, once: types, defaults, texts. `tclose audit` and
`tclose_spark.audit` are made from them. Imports nothing that `tclose --help` does not need.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter, Signature, signature
from os import PathLike
from typing import TYPE_CHECKING, Annotated, Any, TypedDict, get_args

if TYPE_CHECKING:
    from tclose_spark.runfile.privacy import JointCloseness
    from tclose_spark.runfile.spec import ReleaseSpec

Columns = Collection[str] | Mapping[str, Any] | None
"""Names of columns; or their settings, as in a run file, by name. The distance alone is enough for
a sensitive attribute.
"""

Number = str | float
"""A number as it is written, such as "0.2" or "1/5"; or one of Python."""

Table = Any
"""A DataFrame of Spark, pandas or polars, a pyarrow table, or the path of a table."""


@dataclass(frozen=True)
class OptionText:
    """An option beside its name and type. Names in its texts are those of the command line.

    help: its text. in_python: in place of it in Python's documentation.
    default: the value without it.
    flags: on the command line, if not the name with hyphens. metavar: what is typed.
    least: of a number. many: whether it may be repeated there.
    """

    help: str
    in_python: str = ""
    default: Any = None
    flags: tuple[str, ...] = ()
    metavar: str | None = None
    least: int | None = None
    many: bool = False


class TableOptions(TypedDict, total=False):
    """Which columns are what, what classes are compared with, and how the table is read."""

    quasi_identifiers: Annotated[
        Columns,
        OptionText(
            "Columns that may identify a person.",
            "The columns that determine the class of a record; or settings as in a run file, by "
            "name.",
            (),
            ("--quasi-identifiers", "-q"),
            "A,B,..",
            many=True,
        ),
    ]
    sensitive: Annotated[
        Columns,
        OptionText(
            "Such as disease:equal or salary:ordered:t=0.1,l=3.",
            'The columns to protect: `{"salary": "ordered"}`, or settings as in a run file.',
            (),
            ("--sensitive", "-s"),
            "COLUMN:DISTANCE:SETTINGS",
            many=True,
        ),
    ]
    hierarchies: Annotated[
        Mapping[str, str | PathLike[str]] | None,
        OptionText(
            "The hierarchy of a quasi-identifier.",
            flags=("--hierarchy",),
            metavar="COLUMN=FILE",
            many=True,
        ),
    ]
    spec: Annotated[
        "ReleaseSpec | Mapping[str, Any] | str | PathLike[str] | None",
        OptionText(
            "Take the columns from this run file instead of options.",
            flags=("--config",),
            metavar="FILE",
        ),
    ]
    t: Annotated[Number | None, OptionText("The t of sensitive attributes without their own.")]
    reference: Annotated[
        Table,
        OptionText("Compare classes with this table, such as a census.", metavar="TABLE"),
    ]
    format: Annotated[
        str | None,
        OptionText("csv, parquet, delta or table, if the path does not name it."),
    ]
    options: Annotated[
        Mapping[str, Any] | None,
        OptionText(
            "For Spark's reader, such as sep=;.",
            flags=("--option",),
            metavar="KEY=VALUE",
            many=True,
        ),
    ]
    engine: Annotated[
        str | None,
        OptionText(
            "local (this process), spark, or auto; by default TCLOSE_ENGINE, or the run file's.",
            metavar="ENGINE",
        ),
    ]


class ExplainOptions(TableOptions, total=False):
    """Options of an explanation."""

    attribute: Annotated[
        str | None,
        OptionText("The sensitive attribute; by default the farthest."),
    ]
    labels: Annotated[
        Mapping[str, str | None] | None,
        OptionText(
            "The class; by default the farthest.",
            'The class, such as `{"age": "[20, 29]"}`, None for missing; by default the farthest.',
            flags=("--class",),
            metavar="COLUMN=LABEL",
            many=True,
        ),
    ]


class AuditOptions(TableOptions, total=False):
    """Options of an audit."""

    k: Annotated[int | None, OptionText("Records that every class must have.")]
    n: Annotated[
        int | None,
        OptionText("Require (n, t)-closeness: t to a natural superset of n records."),
    ]
    joint: Annotated[
        "str | Sequence[str | Mapping[str, Any] | JointCloseness]",
        OptionText(
            "Require t of the tuples of these sensitive attributes, all equally far apart.",
            default=(),
            metavar="A,B:T",
            many=True,
        ),
    ]
    person: Annotated[
        str | Mapping[str, Any] | None,
        OptionText(
            "Who a row is about; people may have several, and are counted. Rows without a person "
            "are dropped, or a person each; values that stand for none follow.",
            "Who a row is about; people may have several, and are counted. With settings as in a run file, such as "
            '`{"column": "id", "placeholders": ["-"], "unknown": "drop"}`.',
            metavar="COLUMN[:drop|alone[:VALUE,..]]",
        ),
    ]
    household: Annotated[
        str | Mapping[str, Any] | None,
        OptionText(
            "The household of a row, and the least number of them in each class.",
            "The household of a row, and the least number of them in each class, such as "
            '`{"column": "hh", "k": 3}`.',
            metavar="COLUMN[:K]",
        ),
    ]
    missing: Annotated[
        str | None,
        OptionText(
            "any: a missing quasi-identifier could be any value, in k and in --background.",
            '"any" if a missing quasi-identifier could be any value, in k and in --background; '
            '"value" if it equals only other missing ones. By default what the settings of '
            'columns say, else "value".',
            metavar="any|value",
        ),
    ]
    earlier: Annotated[
        Table | Sequence[Table] | None,
        OptionText(
            "An earlier release of the same people, to judge together with the table: with "
            "--person exactly, with --background for listed people, otherwise by labels. The "
            "oldest first.",
            default=(),
            metavar="TABLE",
            many=True,
        ),
    ]
    background: Annotated[
        Table,
        OptionText(
            "People whom an adversary knows, to join.",
            "People whom an adversary knows, by their raw quasi-identifiers; with the person's "
            "column, several rows may be of one person.",
            metavar="TABLE",
        ),
    ]
    raw: Annotated[
        Table,
        OptionText(
            "The raw table: how often are its rows linked to their classes?",
            metavar="TABLE",
        ),
    ]
    population: Annotated[
        Any,
        OptionText(
            "What the table is a sample of. Measures the risk of re-identification.",
            "What the table is a sample of. Measures the risk of re-identification. The sampling fraction, such as "
            '"0.05"; "weight:COLUMN", the people that a row stands for; or "table:PATH" or a table with a row for each '
            "person.",
            metavar="FRACTION|weight:COLUMN|table:TABLE",
        ),
    ]
    threshold: Annotated[
        Number | None,
        OptionText("A record counts as at risk above this chance; by default 0.09."),
    ]
    reidentified: Annotated[
        Number | None,
        OptionText(
            "Give the individual risk that no record may exceed so that at most this share is "
            "expected to be re-identified.",
        ),
    ]
    attacks: Annotated[bool, OptionText("Measure attacks, too.", default=True)]
    gain: Annotated[
        Number,
        OptionText(
            "A class is exposed to an attack that raises a belief by more than this.",
            default="0.2",
        ),
    ]
    supersets: Annotated[
        int,
        OptionText("The most boxes of labels to search for (n, t).", default=100_000, least=1),
    ]
    special_uniques: Annotated[
        int | None,
        OptionText(
            "Search for rows that are unique by up to M quasi-identifiers, and which make them so "
            "(SUDA).",
            metavar="M",
        ),
    ]
    cells: Annotated[
        int | None,
        OptionText(
            "Count the cells of each combination of up to D quasi-identifiers.",
            metavar="D",
            least=1,
        ),
    ]
    below: Annotated[
        int | str | Sequence[int],
        OptionText(
            "A cell of fewer rows is rare; or a threshold for each size.",
            "A cell of fewer rows is rare; or a list with a threshold for each size.",
            default="3",
            metavar="N[,N..]",
        ),
    ]
    levels: Annotated[
        str | Mapping[str, int] | None,
        OptionText(
            "Count only cells of columns of different identification levels; 0 leaves a column "
            "out.",
            metavar="COLUMN=LEVEL,..",
        ),
    ]
    combinations: Annotated[
        int,
        OptionText(
            "The most combinations to examine for special uniques, and for cells.",
            default=10_000,
            least=1,
        ),
    ]
    classes_output: Annotated[
        "str | PathLike[str] | None",
        OptionText("Write the class table (Delta).", metavar="PATH"),
    ]


def options_of(declared: type[Any]) -> dict[str, OptionText]:
    """The options of a declaration by name."""
    return {name: get_args(kind)[1] for name, kind in declared.__annotations__.items()}


def sign(function: Callable[..., Any], parameters: Sequence[Parameter]) -> Signature:
    """The signature that the function now shows to typer, to `help` and to notebooks: with
    parameters that are made from a declaration, so that no command or verb lists them again.
    """
    shown = signature(function).replace(parameters=parameters)
    vars(function)["__signature__"] = shown
    return shown


DEFAULTS = {name: option.default for name, option in options_of(AuditOptions).items()}
"""Of an audit, by name."""
