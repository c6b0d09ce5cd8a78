"""Adult with ARX's hierarchies: the nodes that ARX finds optimal. TCLOSE_DATA is the folder that
holds adult/.
"""

import csv
import os
from pathlib import Path

import pytest
from full_domain import given_of
from strategies import make_problem

from tclose_spark.methods.t_incognito.planning import plan_t_incognito
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

DATA = Path(
    os.environ.get("TCLOSE_DATA") or Path(__file__).parents[3] / ".." / "shared" / "data",
).resolve()
pytestmark = pytest.mark.skipif(
    not DATA.is_dir(),
    reason=f"no real tables: {DATA} is not a folder (set TCLOSE_DATA)",
)

QUASI = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")
HIERARCHICAL = {"t": "0.2", "distance": "hierarchical", "hierarchy": "occupation.csv"}


@pytest.fixture(scope="module")
def adult():
    """(the records, the hierarchies by column)."""
    with (DATA / "adult/adult.csv").open(encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file, delimiter=";"))
    trees = DATA / "adult/hierarchies"
    names = (*QUASI, "occupation")
    return records, {
        n: Hierarchy.parse((trees / f"adult_hierarchy_{n}.csv").read_text(), n) for n in names
    }


def details_of(adult, asked, metric="ncp", most=0, of="input", **options):
    records, hierarchies = adult
    quasi = {name: {"hierarchy": f"{name}.csv"} for name in QUASI}
    problem, rows = make_problem(
        records,
        {"occupation": asked},
        quasi,
        hierarchies,
        k=5,
        name="t_incognito",
        metric=metric,
    )
    return plan_t_incognito(given_of(problem, rows, most, of), **options).report().details


@pytest.mark.parametrize(
    ("asked", "node", "ncp", "classes"),
    [
        ({"t": "0.2"}, (1, 4, 1, 1, 3, 2, 2), 0.930591, 2),
        (HIERARCHICAL, (0, 4, 1, 1, 3, 2, 2), 0.787734, 4),
        ({}, (0, 4, 0, 1, 3, 2, 2), 0.644877, 20),
    ],
    ids=["equal", "hierarchical", "k only"],
)
def test_the_optimum_without_suppression(adult, asked, node, ncp, classes):
    details = details_of(adult, asked)
    assert details["nodes"] == 2160
    assert tuple(details["node"].values()) == node
    assert round(details["losses"]["ncp"], 6) == ncp
    assert (details["classes"], details["suppressed"]) == (classes, 0)
    assert details["looked_at"] < 600


def test_the_optimum_with_suppression(adult):
    """ARX measures classes from the input and asks nothing of what it suppresses, which is no class
    here.
    """
    arx = details_of(adult, {"t": "0.2"}, "discernibility", 1508, class_of_suppressed=False)
    assert tuple(arx["node"].values()) == (1, 4, 1, 0, 3, 2, 2)
    assert (arx["classes"], arx["suppressed"]) == (5, 848)
    ours = details_of(adult, {"t": "0.2"}, "discernibility", 1508)
    assert (ours["node"], ours["classes"], ours["suppressed"]) == (arx["node"], 4, 1218)
    released = details_of(adult, {"t": "0.2"}, "discernibility", 1508, "released")
    assert (released["node"], released["classes"], released["suppressed"]) == (arx["node"], 5, 848)
