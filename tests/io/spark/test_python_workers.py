"""Python workers: texts are made of values in the same way on Spark 4.1 and on 4.0; modules cost a
task nothing.
"""

from __future__ import annotations

import gc
import sys
from types import ModuleType

import pytest

from tclose_spark.io.spark.cluster import freeze_modules


def test_the_garbage_collector_skips_modules_once_they_are_loaded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    try:
        monkeypatch.setitem(sys.modules, "loaded_first", ModuleType("loaded_first"))
        freeze_modules()
        frozen = gc.get_freeze_count()
        assert frozen > 10_000
        # of a task; not frozen, so that cycles of tasks are collected. Many, because other threads
        # release some of the frozen objects meanwhile.
        made = [[] for _ in range(10_000)]
        freeze_modules()
        assert gc.get_freeze_count() < frozen + len(made) / 2
        monkeypatch.setitem(sys.modules, "loaded_later", ModuleType("loaded_later"))
        freeze_modules()
        assert gc.get_freeze_count() > frozen + len(made) / 2
    finally:
        gc.unfreeze()
