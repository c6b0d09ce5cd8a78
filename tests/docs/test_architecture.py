"""docs/architecture.md says what is there."""

import re
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import tclose_spark
from tclose_spark.runfile.registry import MODULES

PACKAGE = Path(tclose_spark.__file__).parent
ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
OF_A_METHOD = ("method.py", "plan.py")

FILE = re.compile(r"[\w./-]+\.(py|j2|toml)")
FOLDER = re.compile(r"[\w./-]+/")
NAME = re.compile(r"[A-Za-z_][\w.]*")


def in_backticks(text):
    return re.findall(r"`([^`\n]+)`", text)


def places(texts):
    """The files and folders that are named, below the package or the repository."""
    return [
        text
        for text in texts
        if (FILE.fullmatch(text) or FOLDER.fullmatch(text)) and text not in OF_A_METHOD
    ]


def find(place):
    return next((found for found in (PACKAGE / place, ROOT / place) if found.exists()), None)


def test_every_file_and_folder_that_is_named_exists():
    named = places(in_backticks(PAGE))
    assert len(named) > 50
    assert [place for place in named if find(place) is None] == []


def test_every_room_is_named():
    rooms = {
        f"{path.name}/"
        for path in PACKAGE.iterdir()
        if path.is_dir() and (path / "__init__.py").exists()
    }
    rooms |= {path.name for path in PACKAGE.glob("*.py") if path.stem != "__init__"}
    assert rooms - set(in_backticks(PAGE.split("## The way of a release")[0])) == set()


def test_rooms_are_in_the_order_of_the_layers():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    layers = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    table = re.findall(
        r"^\| (`.*?`) \|",
        PAGE.split("## The way of a release")[0],
        flags=re.MULTILINE,
    )
    shown = [[re.sub(r"/|\.py$", "", room) for room in in_backticks(row)] for row in table]
    assert [sorted(rooms) for rooms in shown] == [
        sorted(layer.split(" | ")) for layer in reversed(layers)
    ]


def test_what_is_named_beside_a_file_stands_in_it():
    """Names in a paragraph, point or row stand in one of the files that it names, or in
    pipeline.py.
    """
    lost = []
    for block in re.split(r"\n(?=\n|- |\d\. |\| )", PAGE.split("## Glossary")[0]):
        texts = in_backticks(block)
        files = [find(place) for place in places(texts) if FILE.fullmatch(place)]
        sources = "".join(
            file.read_text(encoding="utf-8") for file in [PACKAGE / "pipeline.py", *files]
        )
        names = [
            text
            for text in texts
            if NAME.fullmatch(text) and text not in OF_A_METHOD and not FILE.fullmatch(text)
        ]
        parts = [part for name in names for part in name.split(".")] if files else []
        lost += [part for part in parts if not re.search(rf"\b{part}\b", sources)]
    assert lost == []


@pytest.mark.parametrize("name", MODULES)
def test_every_method_has_its_files(name):
    place = Path(find_spec(MODULES[name]).origin)
    if place.parent.name == name:
        assert [file for file in OF_A_METHOD if not (place.parent / file).exists()] == []
    else:
        assert place.name == f"{name}.py"


def test_every_method_is_independent_of_the_others():
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"][
        "contracts"
    ]
    independent = next(
        contract["modules"] for contract in contracts if contract["type"] == "independence"
    )
    assert sorted(independent) == sorted(
        module.removesuffix(".method") for module in MODULES.values()
    )
