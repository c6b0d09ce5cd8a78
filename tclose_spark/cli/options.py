"""Options that several commands have, and what is typed as arguments of `api/`."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter, signature
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from tclose_spark.api.command_line import MOST_DIGITS, sign
from tclose_spark.errors import ConfigurationError

Config = Annotated[Path, typer.Argument(help="The run file (YAML).", show_default=False)]
Overrides = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY.PATH=VALUE", help="Override a key of the run file."),
]
Engine = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="ENGINE",
        help="local (this process), spark, or auto; by default TCLOSE_ENGINE, or the run file's.",
    ),
]
Overwrite = Annotated[
    bool,
    typer.Option("--overwrite", help="Replace a finished output once the new one is verified."),
]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, parquet, delta, table, excel, stata, spss, sas, jsonl, feather or orc.",
    ),
]
ReaderOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="KEY=VALUE",
        help="For Spark's reader, such as sep=;. May be repeated.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
AsPage = Annotated[
    str | None,
    typer.Option("--html", metavar="FILE", help="Also write a page: one self-contained file."),
]
TableName = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help="CSV, Parquet, Delta, or a catalog table.",
        show_default=False,
    ),
]

IfChanged = Annotated[
    bool,
    typer.Option(
        "--if-changed",
        help="Skip the run if the published release already matches the input, run file and "
        "hierarchies; otherwise replace it.",
    ),
]
Resume = Annotated[
    bool,
    typer.Option(
        "--resume",
        help="Continue a run that broke off with the stage that was not finished, if the input, "
        "the run file and the secrets are the same; otherwise begin again.",
    ),
]
ShowRows = Annotated[
    bool | None,
    typer.Option(
        "--show/--no-show",
        help="Print ten rows of the release; by default on a terminal only.",
    ),
]
After = Annotated[
    str | None,
    typer.Option(
        "--after",
        metavar="OUTPUT",
        help="Continue the release in this output folder: people who stay keep their atom (key "
        "output.after).",
    ),
]
Details = Annotated[
    bool,
    typer.Option(
        "--details",
        help="Also print how the method plans, the precision of each column, and how far counts "
        "from the release are from raw counts.",
    ),
]
Pdf = Annotated[
    Path | None,
    typer.Option(
        "--pdf",
        metavar="FILE",
        help="Also write the public report as PDF (needs the extra pdf).",
    ),
]


def with_options(declared: type[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Gives a command the options of a declaration, as `**typed`, by the names of arguments in
    Python.
    """

    def given_to(command: Callable[..., None]) -> Callable[..., None]:
        first, *own = [
            p
            for p in signature(command, eval_str=True).parameters.values()
            if p.kind is not p.VAR_KEYWORD
        ]
        more = [
            Parameter(name, Parameter.KEYWORD_ONLY, annotation=kind, default=default)
            for name, (kind, default) in map(_typed, declared.__annotations__.items())
        ]
        keywords = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in own]
        sign(command, [first, *more, *keywords])
        return command

    return given_to


def _typed(declared: tuple[str, Any]) -> tuple[str, tuple[Any, Any]]:
    """(the name of an option, (what typer makes of it, its default))."""
    name, annotation = declared
    kind, option = get_args(annotation)
    flag = f"--{name.replace('_', '-')}"
    flags = option.flags or ((f"{flag}/--no-{flag[2:]}",) if kind is bool else (flag,))
    if option.many:
        typed: Any = list[str] | None
    else:
        typed = (
            kind
            if kind in (bool, int, int | None)
            else str
            if isinstance(option.default, str)
            else str | None
        )
    text = f"{option.help} May be repeated." if option.many else option.help
    info = typer.Option(*flags, metavar=option.metavar, help=text, min=option.least)
    return name, (Annotated[typed, info], None if option.many else option.default)


def parse_labels(texts: Sequence[str]) -> dict[str, str | None]:
    """Labels of a class by column, from `age=[20, 29]`; without a label it is missing."""
    labels: dict[str, str | None] = {}
    for text in texts:
        name, equals, label = text.partition("=")
        if not equals:
            raise ConfigurationError(
                f"--class {text}: expected QUASI_IDENTIFIER=LABEL, such as --class 'age=[20, 29]'",
            )
        labels[name] = label or None
    return labels


def parse_list(text: str | None, option: str) -> list[str] | None:
    """The parts of a list such as `a,b,c`.

    >>> parse_list("a, b", "--k")
    ['a', 'b']
    """
    if text is None:
        return None
    parts = [part.strip() for part in text.split(",")]
    if not all(parts):
        raise ConfigurationError(f"{option} {text!r}: expected a list such as a,b,c")
    return parts


def parse_number(text: str) -> Any:
    """A whole number of up to MOST_DIGITS digits if it is one; other text is left to whoever
    expects a number.
    """
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else text


def parse_numbers(text: str | None, option: str) -> list[Any] | None:
    """The whole numbers of a list such as `2,5,10`."""
    parts = parse_list(text, option)
    return None if parts is None else [parse_number(part) for part in parts]


@contextmanager
def writing(option: str, path: Path | str) -> Iterator[None]:
    """Errors of the file system in the body become a ConfigurationError that names the option and
    the path.
    """
    try:
        yield
    except OSError as error:
        raise ConfigurationError(f"{option}: {path} cannot be written ({error.strerror})") from None


def write_private(option: str, path: Path | str, text: str) -> None:
    """Writes a new file that only its owner can read: it may show values of people."""
    with (
        writing(option, path),
        open(
            path,
            "x",
            encoding="utf-8",
            opener=lambda name, flags: os.open(name, flags, 0o600),
        ) as file,
    ):
        file.write(text)
