"""Hostile and odd run files, hierarchies and outputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from case import PEOPLE, Case

CITY: dict[str, Any] = {
    "quasi": {"age": {"type": "numeric"}, "city": {"hierarchy": "h.csv"}},
    "drop_others": True,
}
LIVES = {"city": ["Pisa", "Lyon"] * 12}
BOMB = "a0: &a0 [x, x]\n" + "".join(f"a{i}: &a{i} [*a{i - 1}, *a{i - 1}]\n" for i in range(1, 30))


def run(code: int, change: Callable[[str], str | bytes], *says: str) -> Case:
    return Case(code, says, change=change)


def instead(text: str | bytes) -> Callable[[str], str | bytes]:
    return lambda _: text


OF_RUN_FILES: dict[str, Case] = {
    "nothing": run(2, instead(""), "run.yaml"),
    "a comment": run(2, instead("# nothing\n"), "run.yaml"),
    "a list": run(2, instead("[1, 2]\n"), "run.yaml"),
    "a number": run(2, instead("7\n"), "run.yaml"),
    "no YAML": run(2, instead("name: [a\n"), "run.yaml"),
    "tabs": run(2, instead("name:\n\tsmall\n"), "run.yaml"),
    "bytes that are no text": run(2, instead(b"name: \xff\xfe\xfa\n"), "run.yaml"),
    "NUL bytes": run(2, instead("name: a\0b\n"), "run.yaml"),
    "a byte order mark": run(0, lambda text: "\ufeff" + text),
    "UTF-16": run(2, lambda text: text.encode("utf-16"), "run.yaml is no text in UTF-8"),
    "lines that end with CR LF": run(0, lambda text: text.replace("\n", "\r\n")),
    "two documents": run(2, lambda text: text + "---\n" + text, "run.yaml"),
    "a bomb of aliases": run(2, lambda text: BOMB + text, "run.yaml"),
    "an alias of itself": run(2, lambda text: text + "more: &a [*a]\n", "run.yaml"),
    "an alias of nothing": run(2, lambda text: text + "more: *nobody\n", "run.yaml"),
    "a tag of Python": run(
        2,
        lambda text: text.replace("small", "!!python/object/apply:os.system ['true']"),
        "run.yaml",
    ),
    "a tag that nobody knows": run(2, lambda text: text.replace("small", "!magic x"), "run.yaml"),
    "a key twice": run(2, lambda text: text + "name: other\n", "name"),
    "a key that is a list": run(2, lambda text: text + "? [a, b]\n: c\n", "run.yaml"),
    "an unknown key": run(
        2,
        lambda text: text + "outputs: {}\n",
        "outputs: unknown key; did you mean 'output'?",
    ),
    "a thousand levels": run(
        2,
        lambda text: text + "more: " + "[" * 1000 + "]" * 1000 + "\n",
        "run.yaml",
    ),
    "a hundred thousand levels": run(
        2,
        lambda text: text + "more: " + "[" * 100_000 + "\n",
        "run.yaml",
    ),
    "half of a character": run(
        2,
        lambda text: text.replace("small", '"\\ud800"'),
        "run.yaml",
        "lone surrogate",
    ),
    "k of one": run(2, lambda text: text.replace("k: 3", "k: 1"), "privacy.k"),
    "k of no number": run(2, lambda text: text.replace("k: 3", "k: three"), "privacy.k"),
    "k of yes": run(2, lambda text: text.replace("k: 3", "k: yes"), "privacy.k"),
    "k of a fraction": run(2, lambda text: text.replace("k: 3", "k: 3.5"), "privacy.k"),
    "k below zero": run(2, lambda text: text.replace("k: 3", "k: -3"), "privacy.k"),
    "k of 10^400": run(3, lambda text: text.replace("k: 3", "k: 1" + "0" * 400), "privacy.k"),
    "t of 1e400": run(2, lambda text: text.replace("'0.5'", "1e400"), "disease.t"),
    "t of infinity": run(2, lambda text: text.replace("'0.5'", ".inf"), "disease.t"),
    "t of no number": run(2, lambda text: text.replace("'0.5'", ".nan"), "disease.t"),
    "t of zero": run(0, lambda text: text.replace("'0.5'", "0")),
    "t of minus zero": run(0, lambda text: text.replace("'0.5'", "-0.0")),
    "t of a thousand digits": run(0, lambda text: text.replace("'0.5'", "'0." + "5" * 1000 + "'")),
    "t of 1e-400": run(2, lambda text: text.replace("'0.5'", "'1e-400'"), "disease.t"),
    "t of 1e-999999999": run(2, lambda text: text.replace("'0.5'", "'1e-999999999'"), "disease.t"),
    "t of 1/0": run(2, lambda text: text.replace("'0.5'", "'1/0'"), "disease.t"),
    "a variable that is not set": run(
        2,
        lambda text: text.replace("people.parquet", "${NOBODY_SET_THIS}"),
        "input.path",
    ),
    "a name of HTML": run(
        0,
        lambda text: text.replace("name: small", "name: '<script>alert(1)</script>'"),
    ),
    "a name of line ends": run(0, lambda text: text.replace("name: small", 'name: "a\\nb"')),
    "a column in two roles": run(
        2,
        lambda text: text.replace("  direct_identifiers:\n", "  direct_identifiers:\n  - age\n"),
        "'age'",
    ),
    "an output in the input": run(
        2,
        lambda text: text.replace("path: out", "path: people.parquet"),
        "output",
    ),
    "an output of no path": run(
        2,
        lambda text: text.replace("path: out", "path: ''"),
        "output.path",
        "empty",
    ),
    "an input of no path": run(
        2,
        lambda text: text.replace("path: people.parquet", "path: ' '"),
        "input.path",
        "empty",
    ),
}


def tree(code: int, content: str | bytes, *says: str) -> Case:
    content = content if isinstance(content, bytes) else content.encode()
    return Case(code, says, {**PEOPLE, **LIVES}, files={"h.csv": content}, roles=CITY)


PATHS = "Pisa;Italy;*\nLyon;France;*\n"
WHERE = "attributes.quasi_identifiers.city.hierarchy"


def a_million_lines(path: Path) -> None:
    path.write_text(PATHS + "".join(f"v{i};w{i % 100};*\n" for i in range(1_000_000)))


OF_HIERARCHIES: dict[str, Case] = {
    "a tree": tree(0, PATHS),
    "commas": tree(0, PATHS.replace(";", ",")),
    "a byte order mark": tree(0, "\ufeff" + PATHS),
    "lines that end with CR LF": tree(0, PATHS.replace("\n", "\r\n")),
    "quoted fields": tree(0, PATHS.replace("Italy", '"Italy; south"')),
    "a million lines": Case(
        0,
        (),
        {**PEOPLE, **LIVES},
        files={"h.csv": a_million_lines},
        roles=CITY,
    ),
    "nothing": tree(2, "", WHERE),
    "a cycle": tree(2, "Pisa;Italy;Pisa;*\nLyon;Pisa;Lyon;*\n", WHERE),
    "a leaf twice": tree(2, PATHS + "Pisa;France;*\n", WHERE, "Pisa"),
    "a line twice": tree(0, PATHS + "Pisa;Italy;*\n"),
    "two parents": tree(2, "Pisa;Italy;South;*\nLyon;Italy;North;*\n", WHERE, "Italy"),
    "two roots": tree(2, "Pisa;Italy;*\nLyon;France;all\n", WHERE),
    "ragged lines": tree(2, "Pisa;Tuscany;Italy;*\nLyon;France;*\n", WHERE),
    "a leaf that is a star": tree(2, PATHS + "*;*;*\n", WHERE),
    "an empty field": tree(0, "Pisa;;*\nLyon;France;*\n"),
    "bytes that are no text": tree(2, PATHS.encode() + b"\xff\xfe;x;*\n", WHERE),
    "NUL bytes in a leaf that no row has": tree(0, PATHS + "a\0b;x;*\n"),
    "a quote without end": tree(2, PATHS + '"Oslo;x;*\n', WHERE),
    "values that it lacks": tree(2, "Pisa;Italy;*\n", "'city'", "lacks 1 value in 12 rows"),
    "a hierarchy that is a folder": Case(
        2,
        (WHERE,),
        {**PEOPLE, **LIVES},
        files={"h.csv": lambda path: path.mkdir()},
        roles=CITY,
    ),
}


def out(code: int, make: Callable[[Path], object], *says: str) -> Case:
    return Case(code, says, files={"out": make})


def to_other(path: Path) -> None:
    (path.parent / "other").mkdir()
    path.symlink_to("other")


def public_to_other(path: Path) -> None:
    (path.parent / "other").mkdir()
    path.mkdir()
    (path / "public").symlink_to("../other")


OF_OUTPUTS: dict[str, Case] = {
    "a link to a folder": out(0, to_other),
    "a broken link": out(0, lambda path: path.symlink_to("none/none")),
    "a link to itself": out(2, lambda path: path.symlink_to(path), "output"),
    "a file": out(2, lambda path: path.write_text(""), "output"),
    "a public folder with other files": out(
        2,
        lambda path: [
            (path / "public").mkdir(parents=True),
            (path / "public/mine.txt").write_text(""),
        ],
        "output",
        "mine.txt",
    ),
    "a public folder that is a link": out(0, public_to_other),
}
