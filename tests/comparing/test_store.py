"""A comparison's folder, wherever it is broken off."""

from dataclasses import dataclass, field

import pytest
from strategies import make_problem, town

from tclose_spark.comparing.request import Combination, ComparisonRequest
from tclose_spark.comparing.result import Outcome
from tclose_spark.comparing.run_comparison import run_combinations
from tclose_spark.comparing.store import OUTCOMES, ComparisonStore
from tclose_spark.errors import ConfigurationError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.io.storage.folders import LocalFolder
from tclose_spark.usefulness.utility_measures import UtilityMeasures

ASKED = Combination(method="m", k=2, t="0.1", spec=None, refused="why")
REFUSED = Outcome(method="m", k=2, t="0.1", state="refused", why="why", figures={})


@dataclass
class Dying(LocalFolder):
    """A folder that removes so many things, and dies."""

    root: str
    left: int
    removed: list[str] = field(default_factory=list)

    def __post_init__(self):
        super().__init__(self.root)

    def remove(self, name=""):
        if not self.left:
            raise KeyboardInterrupt
        self.left -= 1
        self.removed.append(name)
        super().remove(name)


def finished(path):
    kept = ComparisonStore(LocalFolder(str(path)), "first")
    kept.folder.create(private=True)
    kept.begin(overwrite=False)
    kept.keep(ASKED, "", REFUSED)
    kept.finish({}, "", "")


@pytest.mark.parametrize("steps", range(6))
def test_overwriting_that_is_broken_off_never_leaves_what_is_of_another_comparison(tmp_path, steps):
    finished(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        ComparisonStore(Dying(str(tmp_path), steps), "second").begin(overwrite=True)
    with pytest.raises(ConfigurationError, match="another input"):
        ComparisonStore(LocalFolder(str(tmp_path)), "second").begin(overwrite=False)
    again = ComparisonStore(LocalFolder(str(tmp_path)), "second")
    again.begin(overwrite=True)
    assert again.outcome(ASKED, "") is None
    assert not (tmp_path / OUTCOMES).exists()


def test_who_only_plans_learns_nothing_and_draws_no_queries(tmp_path, monkeypatch):
    problem, rows = make_problem(town(40), {"disease": {"t": "0.4"}}, k=4)
    table = ComparedTable(profile=problem.profile, rows=rows, whole=len(rows))
    asked = [Combination(method="stack_and_deal", k=4, t="0.4", spec=problem.spec)]
    kept = ComparisonStore(LocalFolder(str(tmp_path)), "key")

    def worth(table, attributes):
        raise AssertionError("it is not measured")

    monkeypatch.setattr(UtilityMeasures, "of_table", worth)
    request = ComparisonRequest(
        spec=problem.spec,
        combinations=asked,
        sample=None,
        output="compare",
        plan_only=True,
        bound=False,
        overwrite=False,
    )
    (made,) = run_combinations(request, kept, lambda: table, problem.hierarchies, lambda line: None)
    assert made.state == "planned"
