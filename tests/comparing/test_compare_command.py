"""`tclose compare` on a small table: killed, resumed, extended; its figures are those of a
release.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from strategies import CITIES, town

from tclose_spark.comparing import run_comparison as comparison
from tclose_spark.io.run import Run

Tclose = Callable[..., tuple[int, str, str]]
PEOPLE = pa.Table.from_pylist(town(240))
QUASI: dict[str, Any] = {
    "age": {"type": "numeric", "round_to": 5},
    "sex": {},
    "city": {"hierarchy": "cities.csv"},
}
ASKED = (
    "--k",
    "3,300",
    "--t",
    "0.3,0.5",
    "--methods",
    "stack_and_deal,closeness_tree:effort=fast,fragmentation",
)


@pytest.fixture(scope="module")
def conf(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    people = PEOPLE.drop_columns(["grade"])
    asked = {"disease": {"t": "0.4", "l": {"distinct": 2}}}
    return write_run(tmp_path_factory.mktemp("people"), people, quasi=QUASI, sensitive=asked, k=4)


def test_a_comparison_that_is_killed_goes_on_where_it_was(
    conf: Path,
    tclose: Tclose,
    open_run: Callable[..., Run],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert CITIES
    folder = conf.parent / "out/compare"
    done = comparison.run_trial
    left = 5

    def dies(*arguments: Any) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise KeyboardInterrupt
        return done(*arguments)

    monkeypatch.setattr(comparison, "run_trial", dies)
    code, _, said = tclose("compare", conf, *ASKED)
    assert code == 130
    assert len(os.listdir(folder / "outcomes")) == 5
    assert not (folder / "compare.json").exists()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "rows.json").stat().st_mode) == 0o600

    began = []
    monkeypatch.setattr(
        comparison,
        "run_trial",
        lambda *arguments: began.append(arguments[0]) or done(*arguments),
    )
    monkeypatch.setattr(
        "tclose_spark.comparing.run_comparison.draw_rows",
        None,
    )  # they are there still
    code, table, said = tclose("compare", conf, *ASKED)
    assert code == 0, said
    assert "5 of 12 combinations are finished already" in said
    assert len(began) == 7
    assert sorted(os.listdir(folder)) == [
        "about.json",
        "compare.html",
        "compare.json",
        "compare.svg",
        "outcomes",
    ]
    assert all(
        stat.S_IMODE(file.stat().st_mode) == 0o600 for file in folder.rglob("*") if file.is_file()
    )
    result = json.loads((folder / "compare.json").read_text())
    states = {(o["method"], o["k"], o["t"]): o["state"] for o in result["outcomes"]}
    assert states["stack_and_deal", 3, "0.5"] == "released"
    assert (
        states["stack_and_deal", 300, "0.5"]
        == states["closeness_tree:effort=fast", 300, "0.3"]
        == "unreachable"
    )
    assert states["fragmentation", 3, "0.5"] == "refused"
    assert "fragmentation: refused: " in table
    assert "makes no distinct l" in table
    assert "no class of 300 can be made" in table

    code, again, said = tclose("compare", conf, *ASKED)
    assert (code, len(began)) == (0, 7)
    assert again == table
    _agrees_with_a_release(conf, tclose, result)


def _agrees_with_a_release(conf: Path, tclose: Tclose, result: dict[str, Any]) -> None:
    """With all rows and the same secret, a combination is the release of its run file."""
    found = next(
        o
        for o in result["outcomes"]
        if (o["method"], o["k"], o["t"]) == ("stack_and_deal", 3, "0.5")
    )
    sets = (
        "privacy.k=3",
        "attributes.sensitive_attributes.disease.t=0.5",
        "output.path=../released",
    )
    code, _, said = tclose("release", conf, *[part for text in sets for part in ("--set", text)])
    assert code == 0, said
    certificate = json.loads((conf.parent.parent / "released/public/certificate.json").read_text())
    utility, figures = certificate["utility"], found["figures"]
    assert figures["classes"] == certificate["release"]["classes"]
    assert figures["ncp"] == pytest.approx(utility["ncp"], abs=1e-8)
    assert figures["discernibility"] == utility["discernibility"]
    assert figures["emd"]["disease"] == certificate["guarantees"]["t"]["disease"]["achieved_exact"]
    assert figures["smallest"] == certificate["guarantees"]["k"]["achieved"]


def test_a_sample_another_comparison_and_what_does_not_hold(
    conf: Path,
    tclose: Tclose,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    where = ("--output", tmp_path / "compared")
    code, table, said = tclose(
        "compare",
        conf,
        "--methods",
        "stack_and_deal",
        "--sample",
        "90",
        *where,
    )
    assert code == 0, said
    result = json.loads((tmp_path / "compared/compare.json").read_text())
    assert 60 <= result["rows"] <= 120
    assert result["input_rows"] == 240
    assert [(o["k"], o["t"], o["state"]) for o in result["outcomes"]] == [
        (4, "as asked", "released"),
    ]
    assert result["outcomes"][0]["figures"]["rows"] == result["rows"]

    code, _, said = tclose(
        "compare",
        conf,
        "--methods",
        "stack_and_deal",
        "--sample",
        "all",
        *where,
    )
    assert code == 2
    assert "another input, sample or run file" in said
    monkeypatch.setattr("tclose_spark.comparing.trial.plan_trial", _plan_of_one_class_less_close)
    arguments = ("--methods", "stack_and_deal", "--sample", "90", "--overwrite", "--k", "5", *where)
    code, table, said = tclose("compare", conf, *arguments)
    assert code == 1
    assert "1 releases do not meet their requirements, of methods: stack_and_deal" in said
    assert "broken" in table


def _plan_of_one_class_less_close(spec: Any, attributes: Any, table: Any) -> Any:
    """Classes of two rows, whatever they are."""
    import numpy as np

    from tclose_spark.methods.method import ClassAssignment

    class Plan:
        tasks, figures = 1, dict[str, Any]()

        def describe(self, figures: Any) -> dict[str, Any]:
            return {}

        def route(self, rows: Any) -> Any:
            return np.arange(len(rows)), np.zeros(len(rows), dtype=np.int64)

        def assign_classes(self, rows: Any, task: int) -> ClassAssignment:
            return ClassAssignment(here=np.arange(len(rows)), classes=np.arange(len(rows)) // 2)

    return Plan()


def test_what_is_typed_wrong_is_refused_before_anything_starts(
    conf: Path,
    tclose: Tclose,
    tmp_path: Path,
) -> None:
    for arguments, message in (
        (("--k", "1"), "--k 1"),
        (("--methods", "none"), "--methods none"),
        (("--sample", "0"), "--sample 0"),
        (("--output", conf.parent / "out/public/x"), "is public"),
    ):
        code, _, said = tclose("compare", conf, *arguments)
        assert (code, message in said) == (2, True), said
