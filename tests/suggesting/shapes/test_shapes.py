"""Roles, forms and codes that are suggested for fifteen shapes of public tables, against what an
expert would write.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from tables import SHAPES, table_of

from tclose_spark.api.suggest import suggest
from tclose_spark.suggesting.judging import SuggestedColumn
from tclose_spark.suggesting.settings import quasi_identifier_settings, sensitive_settings
from tclose_spark.suggesting.suggestion import Suggestion
from tclose_spark.suggesting.views import summary_lines


def suggested(shape: str, **options: Any) -> Suggestion:
    return suggest(table_of(shape), name=shape, engine="local", log=None, **options)


def form_of(column: SuggestedColumn) -> str | None:
    """How the column is released: the distance of a sensitive attribute, the labels of a
    quasi-identifier.
    """
    if column.role == "sensitive":
        return str(sensitive_settings(column, "0.2").settings["distance"])
    if column.role != "quasi":
        return None
    settings = quasi_identifier_settings(column).settings
    return (
        "set"
        if "generalization" in settings
        else "hierarchy"
        if "hierarchy" in settings
        else settings["type"]
    )


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_is_judged_as_an_expert_would(shape: str) -> None:
    expert = yaml.safe_load((Path(__file__).parent / f"{shape}.yaml").read_text(encoding="utf-8"))
    found, wanted = {}, {}
    for column in suggested(shape, trial=False).columns:
        name, codes = column.name, list(column.facts.codes.rows)
        of_expert = expert.get(name) or expert[re.sub("[0-9]+$", "*", name)]
        found[name] = {"role": column.role, "as": form_of(column), "missing": codes}
        wanted[name] = {"as": found[name]["as"], **of_expert}
        wanted[name]["missing"] = [str(code) for code in of_expert.get("missing", ())]
    assert found == wanted


@pytest.mark.parametrize(("shape", "most"), [("covid_cases", 0.5), ("police_stops", 0.5)])
def test_a_release_of_the_suggestion_is_useful(shape: str, most: float) -> None:
    (line, *_) = suggested(shape).tried
    assert float(line.partition("NCP ")[2][:4]) < most
    assert "Not ready" not in line


def test_a_bad_suggestion_ends_with_what_to_decide() -> None:
    suggestion = suggested("court_cases", t="0.001")
    shown = " ".join(" ".join(summary_lines(suggestion)).split())
    assert float(suggestion.tried[0].partition("NCP ")[2][:4]) > 0.5
    assert suggestion.tried[-1].startswith(
        "Not ready: a release by this file as it is would be nearly useless. Decide which",
    )
    assert shown.endswith(suggestion.tried[-1])


def test_answers_are_named_as_a_group() -> None:
    suggestion = suggested("students", trial=False)
    said = "60 columns of two values, q0 to q59: answers? sensitive, or insensitive"
    assert said in " ".join(" ".join(summary_lines(suggestion)).split())
    assert f"# {said}\n" in suggestion.yaml
    assert "# q17" not in suggestion.yaml
    assert suggestion.roles["gpa"] == "sensitive attribute"
    answers = table_of("students").drop_columns(["gpa"])  # one of them has to be sensitive
    assert (
        suggest(answers, engine="local", log=None, trial=False).choice.groups
        == suggestion.choice.groups
        == (said,)
    )


def test_the_run_file_proposes_codes_with_their_share() -> None:
    suggestion = suggested("labour_force", trial=False)
    assert suggestion.spec["attributes"]["quasi_identifiers"]["Alter"] == {
        "type": "numeric",
        "missing_values": [999],
    }
    assert "999 in 4.0% of rows" in suggestion.yaml
    assert suggestion.roles["pw"] == "survey weight"
    assert not suggestion.warnings


def test_labels_among_numbers_are_asked_about() -> None:
    text = " ".join(suggested("police_stops", trial=False).yaml.replace("#", "").split())
    assert "? numbers, and 10-17, 65+: values of their own, in groups of neighbours" in text
