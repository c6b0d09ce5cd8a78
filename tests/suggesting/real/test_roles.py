"""The labels of real tables in roles.yaml are well formed: benchmarks/roles.py compares `tclose
suggest` with them.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

LABELS: dict[str, Any] = yaml.safe_load(
    (Path(__file__).parent / "roles.yaml").read_text(encoding="utf-8"),
)
ROLES = {"direct", "quasi", "sensitive", "insensitive", "weight", "person", "household", "left_out"}
TYPES = {"numeric", "categorical", "date"}


def test_the_page_counts_the_tables() -> None:
    page = Path(__file__).parents[3] / "docs/suggest.md"
    assert f"{len(LABELS)} real tables" in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("key", LABELS)
def test_a_table_is_labelled_completely(key: str) -> None:
    table = LABELS[key]
    assert len(key.split("/")) == 2
    assert table.keys() == {"sensitive", "ages", "columns"}
    for name, column in table["columns"].items():
        assert isinstance(name, str), name
        assert column.keys() - {"missing"} == {"roles", "type"}, name
        assert set(column["roles"]) <= ROLES, name
        assert len(set(column["roles"])) == len(column["roles"]) > 0, name
        assert column["type"] in TYPES, name


@pytest.mark.parametrize("key", LABELS)
def test_the_roles_of_a_table_fit_together(key: str) -> None:
    columns = LABELS[key]["columns"]
    best = [column["roles"][0] for column in columns.values()]
    assert any("quasi" in column["roles"] for column in columns.values())
    assert best.count("person") <= 1
    assert best.count("weight") <= 1
    assert LABELS[key]["sensitive"]
    assert all("sensitive" in columns[name]["roles"] for name in LABELS[key]["sensitive"])
    assert not any("sensitive" in columns[name]["roles"] for name in LABELS[key]["ages"])


@pytest.mark.parametrize("key", LABELS)
def test_nobody_misses_an_identifier_of_rows(key: str) -> None:
    columns = LABELS[key]["columns"].values()
    identifiers = [column["roles"] for column in columns if column["roles"][0] == "direct"]
    assert all("left_out" in roles for roles in identifiers)
    assert not any(
        {"quasi", "sensitive", "insensitive", "weight"} & set(roles) for roles in identifiers
    )
