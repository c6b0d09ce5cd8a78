"""The README's Python example runs and prints what the page shows, also where there is no Spark
(`make test-local`).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_example_prints_what_is_shown(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    section = README.split("## From Python")[1].split("\n## ")[0]
    (example,) = re.findall(r"```python\n(.*?)```", section, flags=re.DOTALL)
    (shown,) = re.findall(r"```text\n(.*?)```", section, flags=re.DOTALL)
    names: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    exec(example, names)
    printed = capsys.readouterr().out.splitlines()
    lines = shown.splitlines()
    assert names["made"].certificate["guarantees"]["k"]["achieved"] >= 5
    assert len(printed) == len(lines)
    assert (
        printed[0].partition("'achieved'")[0] == lines[0].partition("'achieved'")[0]
    )  # classes vary with the secret
    assert printed[1].split() == lines[1].split()
    assert printed[-1] == lines[-1]
