"""What a run records of itself: it is read as it was written, and what fits no record is refused
with the name of the file.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark import pipeline
from tclose_spark.errors import DamagedStagingError
from tclose_spark.io.run import Run
from tclose_spark.io.run_state import (
    AnonymizeRecord,
    InputRecord,
    PlanRecord,
    ProfileRecord,
    RunState,
)

FINGERPRINT = "30-00000000000000aa"
DIGESTS = {"a": "f00"}
ENTRY: dict[str, Any] = {
    "issued": "2026-11-21T01:02:03Z",
    "fingerprint": FINGERPRINT,
    "rows": 3,
    "input_rows": 4,
    "suppressed": 1,
    "of": "released",
    "kept": 0,
    "classes": 1,
    "atoms": 1,
    "smallest_atom": 3,
    "k": 3,
    "t": {"income": "1/2", "disease": None},
    "distinct": {"income": 2},
    "ncp": None,
}
"""A release in the history of a line."""
EVERY: dict[str, Any] = {
    "profile": {
        "input": {
            "path": "people.csv",
            "rows": 30,
            "version": None,
            "state": "f00",
            "fingerprint": FINGERPRINT,
        },
        "sealed": "f00",
        "pseudonyms": {},
        "hierarchies": DIGESTS,
        "insensitive": {"tuples": 3},
        "warnings": ["a"],
        "repeated": [],
        "subjects": {"internal": ["a"], "public": []},
        "secret_of_people": "f00",
        "distances": {"income": "f00"},
        "types": {"income": "int"},
        "earlier": {"releases": [ENTRY], "atoms": FINGERPRINT},
    },
    "plan": {"plan": {"tasks": 2}, "k": {"k": 3, "alpha": "1/2"}},
    "anonymize": {
        "written": {
            "raw": FINGERPRINT,
            "published": FINGERPRINT,
            "people": FINGERPRINT,
            "projections": {"release": FINGERPRINT},
        },
        "method": {"blocks": 3},
        "hierarchies": {},
        "versions": {"readable": [0, 1], "commits": 2},
    },
    "verify": {
        "verdict": "holds",
        "figures": {"classes": 3},
        "minimality": {"measured": True, "worst": None, "warnings": ["a"]},
        "files": DIGESTS,
    },
    "report": {
        "exports": {"csv": {"part-0.csv": 100}},
        "escape_formulas": True,
        "files": {"public": DIGESTS, "internal": DIGESTS},
    },
    "publish": {"seconds": 0.0},
}
"""Each record with all its keys."""
FREE = ("insensitive", "method", "figures", "worst")
"""Values whose keys are data."""


def state_of(stages: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": "a", "version": "1", "id": None, "configuration": "f00", "stages": dict(stages)}


def places(tree: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """The paths of all keys that have a type."""
    for key, value in tree.items() if isinstance(tree, dict) and path[-1:] != ("k",) else ():
        yield (*path, key)
        if key not in FREE:
            yield from places(value, (*path, key))


PLACES = [path for path in places(EVERY) if path not in {("profile",), ("publish",)}]


def with_value(path: tuple[str, ...], value: Any) -> dict[str, Any]:
    """All records, with another value at a place."""
    stages = json.loads(json.dumps(EVERY))
    holder = stages
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return state_of(stages)


@drawn(50)
@given(st.sets(st.sampled_from([*EVERY])), st.dictionaries(st.text(max_size=3), st.integers()))
def test_a_state_is_read_as_it_was_written(stages: set[str], more: dict[str, int]) -> None:
    """With the keys of options of other packages, and of other versions."""
    found = state_of(
        {
            name: {**{f"own_{key}": n for key, n in more.items()}, **record}
            for name, record in EVERY.items()
            if name in stages
        },
    )
    state = RunState.parse(json.dumps(found))
    assert json.loads(state.text) == found
    assert [*state.done] == [name for name in EVERY if name in stages]


@pytest.mark.parametrize("path", PLACES, ids=".".join)
def test_a_value_of_another_kind_is_refused(path: tuple[str, ...]) -> None:
    assert RunState.parse(json.dumps(state_of(EVERY))).of(ProfileRecord).input.rows == 30
    with pytest.raises((ValueError, KeyError)):
        RunState.parse(json.dumps(with_value(path, [[None]])))


@pytest.mark.parametrize("text", ["", "{", "[]", "3", "[" * 100_000, '{"stages": {}}'])
def test_a_text_that_is_no_state_is_refused(text: str) -> None:
    with pytest.raises((ValueError, KeyError)):
        RunState.parse(text)


def test_a_key_twice_is_refused() -> None:
    twice = '{"stages": {}, "configuration": "a", "configuration": "b"}'
    with pytest.raises(ValueError, match="twice"):
        RunState.parse(twice)


def test_records_are_by_type_and_by_stage() -> None:
    state = RunState.parse(json.dumps(state_of(EVERY)))
    assert state.of(PlanRecord).plan["tasks"] == 2
    assert [*state.before("anonymize").done] == ["profile", "plan"]
    with pytest.raises(KeyError, match="anonymize"):
        state.before("anonymize").of(AnonymizeRecord)
    assert isinstance(state.of(ProfileRecord).input, InputRecord)


STAGE_AFTER = {
    "profile": pipeline.plan,
    "plan": pipeline.anonymize,
    "anonymize": pipeline.verify,
    "verify": pipeline.report,
    "report": pipeline.publish,
}
ODD = {
    "profile": ("input", "rows"),
    "plan": ("plan",),
    "anonymize": ("written", "raw"),
    "verify": ("minimality", "warnings"),
    "report": ("files", "public"),
}


FILES = {
    "profile.json": "profile",
    "columns.json": "profile",
    "plan.json": "plan",
    "minimality.json": "anonymize",
    "linked_sample.json": "anonymize",
    "plan_report.json": "plan",
    "verification.json": "verify",
}
"""The other files of records, and the stage that writes each."""
READER = {
    **{name: STAGE_AFTER[stage] for name, stage in FILES.items()},
    "linked_sample.json": pipeline.report,
    "plan_report.json": pipeline.report,
}


@pytest.mark.parametrize("text", ['{"odd": 1}', "[1]", "3", '"odd"'])
@pytest.mark.parametrize("name", FILES)
def test_a_staged_file_that_does_not_fit_is_exit_code_2_with_its_name(
    reported: Path,
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    name: str,
    text: str,
) -> None:
    """Even if the state lists it, as of another version of the package."""
    output = Path(shutil.copytree(reported, tmp_path / "out"))
    area = output / "internal/staging"
    digest = hashlib.sha256(text.encode()).hexdigest()
    (area / name).write_text(text)
    state = json.loads((area / "run.json").read_text())
    for record in state["stages"].values():
        for listed in (record["handed_on"], record.get("files", {})):
            if name in listed:
                listed[name] = digest
    (area / "run.json").write_text(json.dumps(state))
    with pytest.raises(DamagedStagingError, match=f"{area / name} is .*begin again") as error:
        READER[name](open_run(conf, f"output.path={output}"))
    assert error.value.exit_code == 2


@pytest.mark.parametrize("stage", STAGE_AFTER)
def test_a_staged_record_that_does_not_fit_is_exit_code_2_with_the_file(
    reported: Path,
    conf: Path,
    open_run: Callable[..., Run],
    tmp_path: Path,
    stage: str,
) -> None:
    output = Path(shutil.copytree(reported, tmp_path / "out"))
    file = output / "internal/staging/run.json"
    state = json.loads(file.read_text())
    *keys, last = ODD[stage]
    holder = state["stages"][stage]
    for key in keys:
        holder = holder[key]
    holder[last] = {"odd": None}
    file.write_text(json.dumps(state))
    with pytest.raises(DamagedStagingError, match=f"{file} is .*begin again") as error:
        STAGE_AFTER[stage](open_run(conf, f"output.path={output}"))
    assert error.value.exit_code == 2
