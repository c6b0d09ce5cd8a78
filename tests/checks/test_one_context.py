"""One context of Great Expectations serves all validations of a process."""

import json

import great_expectations as gx
import pyarrow as pa

from tclose_spark.checks import validation
from tclose_spark.requirements.expectation import Expectation

SIZE = Expectation(
    "expect_column_values_to_be_between",
    (("column", "size"), ("min_value", 3)),
    "k is 3",
)
SET = Expectation("expect_column_values_to_not_be_null", (("column", "size"),), "sizes are known")


def validated(monkeypatch, sizes, expectations):
    monkeypatch.setattr(validation, "belongs_here", lambda *_: True)
    monkeypatch.setattr(validation, "_collect", lambda *_: pa.table({"size": sizes}).to_pandas())
    return validation.validate(None, f"of {len(sizes)}", expectations, len(sizes))


def test_a_validation_knows_nothing_of_the_one_before(monkeypatch):
    assert validated(monkeypatch, [3, 4], [SIZE]).passed
    assert validated(monkeypatch, [3, 2, 2], [SIZE]).failures == ("k is 3: 2 classes break it",)
    assert validated(monkeypatch, [2], [SET]).passed
    assert validated(monkeypatch, [3], [SIZE, SET]).passed


def test_a_project_has_its_own_suite_under_the_name_and_number_that_its_checkpoint_knows(
    monkeypatch,
):
    for expectations in ([SIZE], [SET, SIZE]):
        files = validated(monkeypatch, [3], expectations).files()
        suite = json.loads(files["gx/expectations/classes.json"])
        assert [one["type"] for one in suite["expectations"]] == [one.type for one in expectations]
        known = json.loads(files["gx/validation_definitions/classes.json"])["suite"]
        assert known == {"id": suite["id"], "name": suite["name"]}


def test_a_user_s_own_context_stays_as_it_was_and_stays_the_context_of_the_process(
    monkeypatch,
    tmp_path,
):
    """A suite of ours has the name of one in the user's project, to which an added expectation
    would be written.
    """
    assert validated(monkeypatch, [3], [SIZE]).passed  # with a context of ours, which is there
    theirs = gx.get_context(mode="file", project_root_dir=tmp_path)
    theirs.suites.add(gx.ExpectationSuite(name=validation.CHECKPOINT))
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for _ in range(2):
        assert validated(monkeypatch, [3], [SIZE]).files()
        assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
        assert getattr(validation._contexts_of_process(), validation.CURRENT) is theirs
        for made in (validation._context, validation._of_pandas, validation._empty_project):
            made.cache_clear()  # as if ours came after theirs
