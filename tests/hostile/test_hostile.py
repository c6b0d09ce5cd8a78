"""Hostile inputs end with the right exit code and a message that names what to mend; nothing of
them is public, and no person's value is in a message. Inputs that are good, but odd, are released.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from case import RAW, Case
from inputs import OF_CSV, OF_FILES, OF_NAMES, OF_VALUES
from oracle.judge import judge
from settings import OF_HIERARCHIES, OF_OUTPUTS, OF_RUN_FILES
from tried import Tried

Command = Callable[..., tuple[int, str, str]]

CASES: dict[str, Case] = {
    f"{kind}: {name}": case
    for kind, cases in {
        "CSV": OF_CSV,
        "files": OF_FILES,
        "values": OF_VALUES,
        "names": OF_NAMES,
        "run file": OF_RUN_FILES,
        "hierarchy": OF_HIERARCHIES,
        "output": OF_OUTPUTS,
    }.items()
    for name, case in cases.items()
}
REFUSED = Tried("hostile inputs", "refused", [name for name, case in CASES.items() if case.code])
RELEASED = Tried(
    "hostile inputs",
    "odd, and released",
    [name for name, case in CASES.items() if not case.code],
)


LONG = {"CSV: lines that end with CR", "CSV: doubled quotes", "hierarchy: a million lines"}
"""What Spark reads, and what is large."""


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.more] if name in LONG else []) for name in CASES],
)
def test_it_is_refused_with_a_message_or_released(
    tclose: Command,
    tmp_path: Path,
    name: str,
) -> None:
    case = CASES[name]
    path = case.write(tmp_path)
    code, out, err = tclose(
        "release",
        path,
        *(word for text in case.sets for word in ("--set", text)),
    )
    assert code == case.code, err
    assert RAW not in out + err
    assert "Traceback" not in out + err
    if case.code:
        assert "error: " in err
        assert "unexpected" not in err
        missing = [part for part in case.says if part not in err]
        assert not missing, err
        assert not list(tmp_path.rglob("certificate.json"))
        assert not list(tmp_path.rglob("public/release*"))
        REFUSED.found(name)
        return
    public = tmp_path / "out/public"
    assert judge(public) == []
    page = (public / "report.html").read_text()
    assert not any(word in page for word in ("<script>alert", "<i>x", "> 49 <"))
    for file in public.rglob("*"):
        assert not file.is_file() or RAW.encode() not in file.read_bytes()
    assert json.loads((public / "certificate.json").read_text())["verdict"] == "holds"
    RELEASED.found(name)


@pytest.mark.parametrize("tried", [REFUSED, RELEASED], ids=lambda tried: tried.what)
def test_the_page_of_what_was_tested_has_these_inputs(tried: Tried) -> None:
    tried.compare()
