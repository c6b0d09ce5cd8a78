"""Whatever a user writes into a run file, a hierarchy or an option, the parsers return a value or
raise a clear error.

`make fuzz` draws more of it: FUZZ_EXAMPLES a test. `fuzz_parsers.py` follows the branches of the
code instead; what it or a reader of the code found is here.
"""

from __future__ import annotations

import encodings.aliases
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tclose_spark.api.command_line import parse_hierarchy
from tclose_spark.auditing.short_forms import parse_population
from tclose_spark.cli.options import parse_numbers
from tclose_spark.engine.local.reading import LOCAL_INPUTS, NeedsSparkError
from tclose_spark.errors import ConfigurationError, TcloseError
from tclose_spark.io.input.sniffing import completed
from tclose_spark.io.local_session import LocalSession
from tclose_spark.io.storage.integrity import strict_json
from tclose_spark.measures.loss.information_loss import set_members
from tclose_spark.runfile.loading import load_spec, parse_yaml
from tclose_spark.runfile.privacy import Population
from tclose_spark.runfile.profiles.settings import parse_populations
from tclose_spark.runfile.spec import Input
from tclose_spark.table.hierarchies.hierarchy import Hierarchy
from tclose_spark.table.ranges import interval_or_none

ROOT = Path(__file__).resolve().parents[2]
RUN_FILES = sorted((ROOT / "conf").glob("*.yaml"))
MANY = settings(
    max_examples=int(os.environ.get("FUZZ_EXAMPLES", "60")),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=8),
    st.sampled_from(
        [
            "0.1",
            "1/3",
            "1/0",
            "",
            "*",
            "{}",
            "null",
            "${HOME}",
            "${",
            "2024-01-01",
            "measure",
            "auto",
            "1e400",
        ],
    ),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.text(max_size=6), inner, max_size=3),
    ),
    max_leaves=5,
)


def places(tree: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every node below a tree."""
    below = (
        tree.items()
        if isinstance(tree, dict)
        else enumerate(tree)
        if isinstance(tree, list)
        else ()
    )
    return [place for key, node in below for place in [(*path, key), *places(node, (*path, key))]]


@pytest.mark.parametrize("conf", RUN_FILES, ids=lambda path: path.stem)
@MANY
@given(data=st.data())
def test_a_run_file_with_a_strange_value_is_read_or_refused(
    conf: Path,
    data: st.DataObject,
    tmp_path: Path,
) -> None:
    tree: Any = yaml.safe_load(conf.read_text())
    for _ in range(data.draw(st.integers(1, 2))):
        *above, last = data.draw(st.sampled_from(places(tree)))
        node = tree
        for key in above:
            node = node[key]
        if data.draw(st.booleans()):
            node[last] = data.draw(TREES)
        elif isinstance(node, dict):
            node[
                data.draw(
                    st.one_of(
                        st.text(max_size=6),
                        st.sampled_from(["t", "k", "l", "path", "hierarchy"]),
                    ),
                )
            ] = node.pop(last)
        tree = yaml.safe_load(yaml.safe_dump(tree))
        if not isinstance(tree, dict) or not places(tree):
            return
    path = tmp_path / "run.yaml"
    path.write_text(
        yaml.safe_dump(tree, allow_unicode=True),
        encoding="utf-8",
        errors="surrogatepass",
    )
    accepts_or_refuses(lambda: load_spec(path))


@MANY
@given(st.one_of(st.text(), st.text(alphabet="-:[]{}&*!|>#%@`'\", \n\ta1", max_size=60)))
def test_any_text_as_yaml_is_read_or_refused(text: str) -> None:
    accepts_or_refuses(lambda: parse_yaml(text, "run.yaml"))


@MANY
@given(st.one_of(st.text(), st.text(alphabet=";,\"'*ab \n\r\0", max_size=60)))
def test_any_text_as_a_hierarchy_is_read_or_refused(text: str) -> None:
    accepts_or_refuses(lambda: Hierarchy.parse(text, "city"))


HUGE, DIGITS = "a" * 140_000, "9" * 5_000
"""More characters than `csv` reads in a field, and more digits than Python makes a number of."""


@pytest.mark.parametrize(
    "label",
    ["0001-01-01T00:00+14:00", "9999-12-31T23:59-14:00", f"{{{HUGE}}}", DIGITS + "s"],
)
def test_a_label_out_of_all_range_is_itself_alone(label: str) -> None:
    assert interval_or_none(label) is None
    assert set_members(label) == [label]


@pytest.mark.parametrize(
    "parse",
    [
        lambda: Hierarchy.parse(f"{HUGE};*", "city"),
        lambda: parse_populations(f"941,{DIGITS}", "zip", "public_use"),
    ],
    ids=["hierarchy", "populations"],
)
def test_a_huge_value_is_refused(parse: Callable[[], object]) -> None:
    with pytest.raises(
        ConfigurationError,
        match=r"^(city: the hierarchy is no CSV|zip: line 1 is not an area)",
    ):
        parse()


@MANY
@given(
    st.fractions(min_value=-1, max_value=2)
    | st.floats()
    | st.builds("{}e{}".format, st.integers(0, 9), st.integers(-400, 400))
    | st.builds("1/{}".format, st.integers(0, 400).map(lambda zeros: 10**zeros))
    | st.text(max_size=8),
)
def test_any_sampling_fraction_has_a_population_or_is_refused(fraction: object) -> None:
    made = list[Population]()
    accepts_or_refuses(lambda: made.append(parse_population(str(fraction), Path())))
    for population in made:
        if population.fraction is not None:
            assert float(10**15 / population.fraction) > 0


ENCODINGS = sorted(
    {
        *encodings.aliases.aliases.values(),
        "idna",
        "undefined",
        "punycode",
        "a\0b",
        "\ud800",
        "",
        "x y",
    },
)
NAMES = st.sampled_from(ENCODINGS) | st.text(max_size=8)
SIGNS = st.sampled_from(["", '"', "'", "ab", "\0", "\ud800", ",", "\\"]) | st.text(max_size=3)


@MANY
@given(
    options=st.fixed_dictionaries(
        {},
        optional={"encoding": NAMES, "quote": SIGNS, "escape": SIGNS, "comment": SIGNS},
    ),
)
def test_any_options_of_a_text_file_are_taken_or_refused(
    options: dict[str, str],
    tmp_path: Path,
) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,city\n30,Rome\n" * 60)
    source = Input(path=str(path), format="csv", options={"header": "true", **options})

    def read() -> None:
        with suppress(NeedsSparkError):
            LOCAL_INPUTS.read_table(LocalSession(), completed(source))

    accepts_or_refuses(read)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000, '{"a": 1, "a": 2}', "{"])
def test_json_that_is_damaged_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        strict_json(text)


def test_an_unknown_key_that_begins_as_pydantic_names_types_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"function-x\[: unknown key"):
        parse_hierarchy("function-x[: 1", None)


def test_a_huge_number_as_an_option_is_no_whole_number() -> None:
    assert parse_numbers(f"12,{DIGITS}", "--k") == [12, DIGITS]


def test_a_first_line_with_a_huge_field_is_left_to_Spark(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text(f"{HUGE},b\n1,2\n")
    with pytest.raises(NeedsSparkError, match="first line of a file has a field larger"):
        LOCAL_INPUTS.read_table(
            LocalSession(),
            Input(path=str(path), format="csv", options={"header": "true"}),
        )


def accepts_or_refuses(parse: Callable[[], object]) -> None:
    """Calls a parser. An error is one of ours, with exit code 2 and a text that can be read."""
    error = None
    try:
        parse()
    except TcloseError as raised:
        error = raised
    assert error is None or (error.exit_code == 2 and 0 < len(str(error)) < 20_000)
