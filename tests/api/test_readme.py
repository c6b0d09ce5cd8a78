"""The snippet of the README's section on Python runs, and says what it says."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")


def test_the_snippet_runs(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    section = README.split("## From Python")[1]
    (snippet,) = re.findall(r"```python\n(.*?)```", section.split("\n## ")[0], flags=re.DOTALL)
    *lines, last = snippet.strip().splitlines()
    expression, said = last.split("  # ")
    names: dict[str, Any] = {}
    monkeypatch.chdir(tmp_path)
    exec("\n".join(lines), names)
    assert names["made"].certificate["verdict"] == "holds"
    assert str(eval(expression, names)) == said
