"""Coverage-guided fuzzing of all that reads what a user writes; `make fuzz-parsers` runs it, for
FUZZ_SECONDS in all.

A parser returns a value or raises an error of this package. Anything else ends the fuzzing, and
leaves the input in build/fuzz. `python tests/fuzz/fuzz_parsers.py PARSER FILE` reads it again.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import atheris

atheris.enabled_hooks.add("str")
with atheris.instrument_imports(include=["tclose_spark", "yaml", "fractions"]):
    from tclose_spark.api.command_line import parse_hierarchy
    from tclose_spark.auditing.short_forms import (
        parse_population,
        parse_quasi_identifiers,
        parse_sensitive,
    )
    from tclose_spark.cli.options import parse_labels, parse_list, parse_numbers
    from tclose_spark.comparing.request import requested_methods
    from tclose_spark.engine.local.reading import LOCAL_INPUTS, NeedsSparkError
    from tclose_spark.errors import TcloseError
    from tclose_spark.io.local_session import LocalSession
    from tclose_spark.measures.loss.information_loss import set_members
    from tclose_spark.runfile.loading import load_spec
    from tclose_spark.runfile.profiles.settings import parse_populations
    from tclose_spark.runfile.spec import Input
    from tclose_spark.table.hierarchies.hierarchy import Hierarchy
    from tclose_spark.table.ranges import interval_or_none

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build/fuzz"
LONGEST = 4096
"""Bytes of an input."""


def a_run_file(given: bytes) -> None:
    file = BUILD / f"run-{os.getpid()}.yaml"
    file.write_bytes(given)
    load_spec(file)


def a_hierarchy(given: bytes) -> None:
    Hierarchy.parse(given.decode(errors="replace"), "city")


def populations(given: bytes) -> None:
    parse_populations(
        given[1:].decode(errors="replace"),
        "zip",
        "public_use" if given[:1] > b"z" else "hipaa_safe_harbor",
    )


def a_label(given: bytes) -> None:
    label = given.decode(errors="replace")
    interval_or_none(label)
    set_members(label)


def options(given: bytes) -> None:
    text = given.decode(errors="replace")
    parsers: list[Callable[[], object]] = [
        lambda: parse_labels([text]),
        lambda: parse_list(text, "--k"),
        lambda: parse_numbers(text, "--k"),
        lambda: requested_methods(text, None),
        lambda: parse_hierarchy(text, None),
        lambda: parse_sensitive([text], ROOT),
        lambda: parse_population(text, ROOT),
        lambda: parse_quasi_identifiers([text], [text], ROOT),
    ]
    for parse in parsers:
        with suppress(TcloseError):
            parse()


def a_csv(given: bytes) -> None:
    """The first lines are options, up to an empty one; the rest is the file."""
    head, _, rows = given.partition(b"\n\n")
    file = BUILD / f"people-{os.getpid()}.csv"
    file.write_bytes(rows)
    chosen = dict(
        line.partition("=")[::2]
        for line in head.decode(errors="replace").split("\n")
        if "=" in line
    )
    with suppress(NeedsSparkError):
        for partition in LOCAL_INPUTS.read_table(
            LocalSession(),
            Input(path=str(file), format="csv", options=chosen),
        ).partitions:
            for _ in partition():
                pass


PARSERS: dict[str, tuple[Callable[[bytes], None], list[bytes]]] = {
    "run_file": (
        a_run_file,
        [path.read_bytes() for path in sorted((ROOT / "conf").glob("*.yaml"))],
    ),
    "hierarchy": (a_hierarchy, [b"Pisa;Italy;*\nLyon;France;*\n", b'"a,b",c,*\n']),
    "populations": (populations, [b"~941,805000\n942;12\n", b"a941,805000\n"]),
    "label": (
        a_label,
        [
            b"[20, 29.5[",
            b'{a, "b, c"}',
            b"1/3",
            b"2024-02-29T10:00:00+02:00",
            b"50s",
            b"50-59",
            b"80+",
        ],
    ),
    "options": (
        options,
        [b"age=[20, 29]", b"2,5,10", b"sabre:bounds=proven", b"salary:ordered:t=0.1,l=3", b"1/20"],
    ),
    "csv": (
        a_csv,
        [
            b'header=true\nsep=;\ninferSchema=true\n\na;b\n1;"x;y"\n',
            b"encoding=UTF-8\nnullValue=?\n\n1,?\n",
        ],
    ),
}


def check(parse: Callable[[bytes], None], given: bytes) -> None:
    """Calls a parser. An error is one of ours, with exit code 2 and a text that can be read."""
    try:
        parse(given)
    except TcloseError as error:
        if error.exit_code != 2 or not 0 < len(str(error)) < 20_000:
            raise RuntimeError("an error without a readable message") from error


def fuzz(parser: str, arguments: list[str]) -> None:
    """Runs libFuzzer on one parser."""
    parse, seeds = PARSERS[parser]
    corpus = BUILD / parser
    corpus.mkdir(parents=True, exist_ok=True)
    for number, seed in enumerate(seeds):
        (corpus / f"seed{number}").write_bytes(seed)
    places = [] if arguments and Path(arguments[-1]).is_file() else [str(corpus)]
    atheris.Setup([sys.argv[0], *arguments, *places], lambda given: check(parse, given))
    atheris.Fuzz()


def fuzz_all(seconds: int) -> int:
    """Fuzzes each parser in a process of its own, for an equal share of the time; returns how many
    failed.
    """
    failed = 0
    for parser in PARSERS:
        how = [
            f"-max_total_time={seconds // len(PARSERS)}",
            f"-max_len={LONGEST}",
            f"-artifact_prefix={BUILD}/{parser}-",
        ]
        failed += (
            subprocess.run([sys.executable, __file__, parser, *how], check=False).returncode != 0
        )
    return failed


if __name__ == "__main__":
    if sys.argv[1:]:
        fuzz(sys.argv[1], sys.argv[2:])
    else:
        sys.exit(fuzz_all(int(os.environ.get("FUZZ_SECONDS", "600"))))
