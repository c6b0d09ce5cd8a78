"""What the exact method publishes of its proof."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from promise_page import promises

from tclose_spark import pipeline


@promises(
    "with the exact method, whether no other release of all rows loses less, or how much less one "
    "may lose",
)
def test_only_the_exact_method_says_that_no_release_loses_less(
    run_file: Callable[..., Path],
    open_run: Callable[..., Any],
) -> None:
    table = pa.table(
        {"city": ["Pisa", "Pisa", "Lyon", "Lyon"], "disease": ["flu", "gout", "flu", "gout"]},
    )
    for method, optimum in (("exact", "proven"), ("stack_and_deal", None)):
        conf = run_file(
            table,
            quasi={"city": {}},
            sensitive={"disease": {"t": "0.3"}},
            method={"name": method},
        )
        assert pipeline.release(open_run(conf, overwrite=True))["utility"].get("optimum") == optimum
