"""`benchmarks/others.py`: what another tool is given."""

import importlib.util
from pathlib import Path

from strategies import make_problem, town

from tclose_spark.comparing.request import Combination

PATH = Path(__file__).parents[2] / "benchmarks/others.py"


def test_another_tool_is_asked_at_every_k_and_t_that_some_method_takes():
    described = importlib.util.spec_from_file_location("others", PATH)
    others = importlib.util.module_from_spec(described)
    described.loader.exec_module(others)
    spec = make_problem(town(10), {"disease": {"t": "1"}})[0].spec

    def asked(k, taken):
        return Combination(method="m", k=k, t="0.1", spec=spec if taken else None)

    every = [asked(2, True), asked(2, False), asked(3, False), asked(3, False)]
    assert others.accepted(every, every[1]) is every[0]
    assert others.accepted(every, every[3]) is None
