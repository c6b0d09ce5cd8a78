"""Hierarchies: what a file may hold, the tree's order, lowest common ancestors."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import CITIES, drawn, tree_rows, trees

from tclose_spark.errors import ConfigurationError, InputError
from tclose_spark.runfile.attributes import QuasiIdentifier
from tclose_spark.table.columns.preparing import judged_values
from tclose_spark.table.domains import categorical_domain
from tclose_spark.table.hierarchies.building import with_missing
from tclose_spark.table.hierarchies.hierarchy import Hierarchy

WORK = """State-gov;Government;*
Private;Business;*
Local-gov;Government;*
Self-emp;Business;*
"""


def build(*rows: str) -> Hierarchy:
    """The hierarchy of rows written as leaf/.../*."""
    return Hierarchy.build([tuple(row.split("/")) for row in rows], "zip.csv")


def test_reads_a_row_a_leaf():
    work = Hierarchy.parse(WORK, "work.csv")
    assert work.paths == (
        ("State-gov", "Government", "*"),
        ("Local-gov", "Government", "*"),
        ("Private", "Business", "*"),
        ("Self-emp", "Business", "*"),
    )
    assert work.leaves == ("State-gov", "Local-gov", "Private", "Self-emp")
    assert work.height == 2


WRITTEN = {
    "comma": WORK.replace(";", ","),
    "byte order mark": "\ufeff" + WORK,
    "CRLF": WORK.replace("\n", "\r\n"),
    "no last newline": WORK.rstrip("\n"),
    "blank lines": WORK.replace("\n", "\n\n"),
    "blank first line": "\n" + WORK,
    "blank first line, comma": "\n" + WORK.replace(";", ","),
    "lines of blanks": WORK.replace("\n", "\n  \n"),
    "blanks around labels": WORK.replace(";", " ; "),
    "rows twice": WORK + WORK,
    "quoted": WORK.replace("Private", '"Private"'),
}


@pytest.mark.parametrize("text", WRITTEN.values(), ids=WRITTEN)
def test_reads_the_same_tree_however_it_is_written(text):
    assert Hierarchy.parse(text, "work.csv") == Hierarchy.parse(WORK, "work.csv")


def test_a_quoted_label_may_hold_the_separator():
    assert Hierarchy.parse('"1; 2";low;*\n3;high;*\n', "k").leaves == ("1; 2", "3")
    assert Hierarchy.parse('"a; b",low,*\nc,high,*\n', "k").leaves == ("a; b", "c")


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file_is_named(text):
    with pytest.raises(ConfigurationError, match=r"zip\.csv: the hierarchy is empty"):
        Hierarchy.parse(text, "zip.csv")


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["a/x/*", "b/*"], "row 2 .* has 2 labels; expected 3"),
        (["a/x/*", "b/x/y/*"], "row 2 .* has 4 labels; expected 3"),
        (["*"], "row 1 .* has 1 labels; expected 2"),
        (["a/x/*", "b/x/all"], r"row 2 .* ends in 'all'; expected '\*'"),
        (["a/x/*", "a/y/*"], "not a tree: 'a' is under 'x' and under 'y' .row 2"),
        (["a/x/m/*", "b/x/n/*"], "not a tree: 'x' is under 'm' and under 'n' .row 2"),
        (["a/x/*", "x/y/*"], "not a tree: 'x' is"),
        (["x/y/*", "a/x/*"], "not a tree: 'x' is"),
        (["a/x/*", "x/x/*"], "not a tree: 'x' is both a leaf and an inner node"),
        (["a/b/c/*", "c/b/a/*"], "not a tree"),
        (["a/b/b/*", "c/b/d/*"], "not a tree: 'b' is under"),
        (["a/*", "*/*"], r"'\*' is .*leaf"),
        (["a/a/x/*", "a/x/x/*"], "not a tree"),
        (["a/*/x/*"], "not a tree"),
    ],
)
def test_what_is_no_tree_is_named(rows, message):
    with pytest.raises(ConfigurationError, match=f"^zip.csv: .*{message}"):
        build(*rows)


def test_a_label_may_stand_on_several_heights_of_one_path():
    tree = build("a/a/y/*", "b/x/x/*", "c/x/x/*")
    assert tree.leaves_under == {"a": 1, "x": 2, "y": 1, "*": 3}


@drawn(100)
@given(tree_rows())
def test_the_leaves_below_a_node_are_consecutive(rows):
    tree = Hierarchy.build(rows, "tree")
    assert sorted(tree.paths) == sorted(rows)
    for label in {label for row in rows for label in row}:
        places = [i for i, path in enumerate(tree.paths) if label in path]
        assert places == list(range(places[0], places[-1] + 1))


def test_siblings_keep_the_order_of_the_file():
    assert build("d/x/*", "b/y/*", "c/x/*", "a/y/*").leaves == ("d", "c", "b", "a")


@drawn(100)
@given(trees(), st.data())
def test_finds_the_lowest_common_ancestor(tree, data):
    chosen = data.draw(st.sets(st.integers(0, len(tree.leaves) - 1), min_size=1))
    paths = [tree.paths[leaf] for leaf in chosen]
    expected = next(
        height for height in range(tree.height + 1) if len({path[height:] for path in paths}) == 1
    )
    height, leaf = tree.common_ancestors(np.array([min(chosen)]), np.array([max(chosen)]))
    assert int(height[0]) == expected
    assert all(tree.paths[int(leaf[0])][expected:] == path[expected:] for path in paths)


@drawn(100)
@given(trees())
def test_counts_the_leaves_under_each_inner_label(tree):
    inner = {label for path in tree.paths for label in path[1:]}
    assert tree.leaves_under == {
        label: sum(label in path[1:] for path in tree.paths) for label in inner
    }
    for leaf, path in enumerate(tree.paths):
        shares = [
            1 / len(tree.paths),
            *(tree.leaves_under[label] / len(tree.paths) for label in path[1:]),
        ]
        assert tree.shares[:, leaf].tolist() == pytest.approx(shares)


def test_numbers_the_nodes_of_each_height_in_the_order_of_the_tree():
    tree = build("a/x/m/*", "b/x/m/*", "c/y/m/*", "d/z/n/*")
    assert [nodes.tolist() for nodes in tree.nodes] == [
        [0, 1, 2, 3],
        [0, 0, 1, 2],
        [0, 0, 0, 1],
        [0, 0, 0, 0],
    ]
    assert [parents.tolist() for parents in tree.parents] == [[0, 0, 1, 2], [0, 0, 1], [0, 0]]


@drawn(50)
@given(trees())
def test_parents_lead_from_each_leaf_through_its_nodes_to_the_root(tree):
    node = np.arange(len(tree.leaves))
    for parent, above in zip(tree.parents, tree.nodes[1:], strict=True):
        node = parent[node]
        assert node.tolist() == above.tolist()
    assert not node.any()


def test_missing_values_are_a_leaf_of_their_own_under_the_root():
    tree = CITIES.with_missing("cities")
    assert tree.leaves == (*CITIES.leaves, "(missing)")
    assert tree.without_missing() == CITIES
    height, leaf = tree.common_ancestors(np.arange(5), np.full(5, 5))
    assert [tree.paths[i][h] for i, h in zip(leaf, height, strict=True)] == ["*"] * 5
    with pytest.raises(
        ConfigurationError,
        match=r"cities: missing values become the leaf '\(missing\)', which the hierarchy has already",
    ):
        tree.with_missing("cities")


@pytest.mark.parametrize(("value", "leaf"), [("25.0", "25"), ("25", "25.0"), ("25.00", "25")])
def test_a_whole_number_with_a_point_is_the_leaf_without_it(value: str, leaf: str) -> None:
    settings = QuasiIdentifier(type="numeric", hierarchy="ages.csv")
    tree = with_missing(Hierarchy.parse(f"{leaf};20-30;*\n007;0-10;*\n", "ages"), settings, "ages")
    assert tree.leaves == ("25", "007")
    assert judged_values(pa.array([value, "007", "x.0"]), settings).to_pylist() == [
        "25",
        "007",
        "x.0",
    ]
    text = QuasiIdentifier(hierarchy="ages.csv")
    assert judged_values(pa.array([value]), text).to_pylist() == [value]
    with pytest.raises(
        InputError,
        match=r"floats such as 25.0 for 25; set type: numeric, or make them integers",
    ):
        categorical_domain("age", {"25.0": 3}, Hierarchy.parse("25;20-30;*\n", "ages"))
