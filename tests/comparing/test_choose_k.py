"""`privacy.k: auto`: what is chosen, from what, and how a run file says it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from strategies import make_problem, town

from tclose_spark.auditing.question import question_from_run_file
from tclose_spark.comparing import choose_k as choosing
from tclose_spark.comparing.choose_k import MOST_CANDIDATES, candidates_of, choose_from, choose_k
from tclose_spark.comparing.result import Outcome
from tclose_spark.errors import ConfigurationError, GuaranteeError, UnreachableError
from tclose_spark.in_memory.sample import ComparedTable
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.spec import Privacy

GRADES = {"grade": {"distance": "ordered", "t": "1"}}


def problem_of(records, sensitive, **settings):
    problem, rows = make_problem(records, sensitive, **settings)
    return problem, ComparedTable(profile=problem.profile, rows=rows, whole=len(rows))


def automatic(problem, alpha):
    privacy = Privacy.model_validate({"k": "auto", "alpha": alpha})
    return problem.spec.model_copy(update={"privacy": privacy})


def test_the_candidates_are_2_to_one_less_than_the_number_of_values():
    _, table = problem_of(town(60), GRADES)
    assert candidates_of(table) == [2, 3, 4]
    _, table = problem_of(town(60), {**GRADES, "disease": {"t": "1"}})
    assert candidates_of(table) == [2, 3]  # of the attribute with the fewest values: four diseases
    many = [{**record, "grade": i} for i, record in enumerate(town(300))]
    _, table = problem_of(many, GRADES)
    found = candidates_of(table)
    assert (found[0], found[-1]) == (2, 299)
    assert 30 <= len(found) <= MOST_CANDIDATES
    _, table = problem_of([{**r, "grade": 1 + (r["age"] > 40)} for r in town(60)], GRADES)
    with pytest.raises(ConfigurationError, match="which is 2; give a number"):
        candidates_of(table)


def test_the_chosen_k_costs_least_and_alpha_weighs():
    problem, table = problem_of(town(200), GRADES)
    said = []
    private = choose_k(automatic(problem, "1"), table, problem.hierarchies, said.append)
    useful = choose_k(automatic(problem, "0"), table, problem.hierarchies, said.append)
    assert [c.k for c in private.candidates] == [2, 3, 4]
    assert private.k == min(private.candidates, key=lambda c: c.t).k
    assert useful.k == min(useful.candidates, key=lambda c: c.loss).k == 2
    assert private.k > useful.k
    for c in useful.candidates:
        assert c.cost == pytest.approx(c.loss)
    assert said[1].startswith("k = 2, the least of 0 t + 1 NCP for k = 2 to 4 on 200 rows")


def test_a_k_that_cannot_be_reached_is_no_candidate():
    problem, table = problem_of(
        town(200),
        {"grade": {"distance": "ordered", "t": "0.0001"}},
        class_size="k",
    )
    with pytest.raises(UnreachableError, match=r"privacy\.k: auto: no k can be reached; .*0\.0001"):
        choose_k(automatic(problem, "0.5"), table, problem.hierarchies, lambda line: None)


def test_a_k_whose_classes_are_too_coarse_is_no_candidate(monkeypatch):
    problem, table = problem_of(town(200), GRADES)
    states = {2: "coarse", 3: "released", 4: "released"}
    monkeypatch.setattr(choosing, "run_trial", outcomes(states))
    assert choose_k(automatic(problem, "0"), table, problem.hierarchies, lambda line: None).k == 4
    monkeypatch.setattr(choosing, "run_trial", outcomes(dict.fromkeys(states, "coarse")))
    with pytest.raises(UnreachableError, match="no k can be reached; why not"):
        choose_k(automatic(problem, "0"), table, problem.hierarchies, lambda line: None)


def test_classes_that_do_not_hold_are_no_k_to_pass_over(monkeypatch):
    problem, table = problem_of(town(200), GRADES)
    monkeypatch.setattr(
        choosing,
        "run_trial",
        outcomes({2: "released", 3: "broken", 4: "released"}),
    )
    with pytest.raises(GuaranteeError, match="k = 3, classes of stack_and_deal do not meet"):
        choose_k(automatic(problem, "0"), table, problem.hierarchies, lambda line: None)


def outcomes(states):
    """What becomes of each k."""

    def made(asked, *more, **named):
        figures = {"emd": {"grade": "1/2"}, "suppressed_emd": {}, "ncp": 0.5}
        return Outcome(
            method="m",
            k=asked.k,
            t="1",
            state=states[asked.k],
            why="why not",
            figures=figures,
        )

    return made


def test_as_written_and_normalised_may_choose_differently():
    made = [
        (
            k,
            Outcome(
                method="m",
                k=k,
                t="1",
                state="released",
                figures={"emd": {"a": emd, "b": "0"}, "ncp": ncp},
            ),
        )
        for k, emd, ncp in ((2, "1/20", 0.3), (3, "3/100", 0.34), (4, "1/50", 0.6))
    ]
    chosen = choose_from(made, Privacy.model_validate({"k": "auto"}).alpha, 10)
    assert (chosen.k, chosen.best_normalised, chosen.alpha) == (2, 3, "1/2")
    assert choosing.ChosenK.from_json(json.loads(json.dumps(chosen.to_json()))) == chosen


def test_the_distance_of_suppressed_rows_that_are_a_class_counts():
    figures = {"emd": {"a": "1/5"}, "suppressed_emd": {"a": "1/4"}, "ncp": 0.5}
    made = [(2, Outcome(method="m", k=2, t="1", state="released", figures=figures))]
    assert (
        choose_from(made, Privacy.model_validate({"k": "auto"}).alpha, 10).candidates[0].t == 0.25
    )


def test_auto_is_the_least_k_until_one_is_chosen(run_file: Callable[..., Path]):
    conf = run_file(
        {"age": [1], "sex": ["f"], "disease": ["flu"]},
        k="auto",
        privacy={"alpha": 0.25},
    )
    spec = load_spec(conf)
    assert (spec.privacy.k, str(spec.privacy.alpha)) == (2, "1/4")
    assert spec.with_k(9).privacy == spec.privacy.model_copy(update={"k": 9})
    assert str(load_spec(conf, ["privacy={k: auto}"]).privacy.alpha) == "1/2"
    assert load_spec(conf, ["privacy={k: 4}"]).privacy.alpha is None
    assert (
        load_spec(conf, ["privacy={k: 2}"]).fingerprint
        != load_spec(conf, ["privacy={k: auto}"]).fingerprint
    )
    assert question_from_run_file(spec).k is None  # an audit asks for no k that is not known
    assert question_from_run_file(spec, k=7).k == 7
    assert load_spec(conf, ["privacy.k=5", "privacy.alpha=null"]).privacy == Privacy(k=5)
    for wrong, message in (
        ("privacy.k=5", "alpha is for k: auto"),
        ("privacy={k: 4, alpha: 0.5}", r"alpha is for k: auto.*--set privacy\.alpha=null"),
        ("privacy={k: auto, alpha: 2}", "privacy.alpha: .*from 0 to 1"),
        ("privacy={k: automatic}", "privacy.k: found 'automatic'"),
    ):
        with pytest.raises(ConfigurationError, match=message):
            load_spec(conf, [wrong])


def test_a_release_with_the_k_that_its_plan_chose(
    run_file: Callable[..., Path],
    tclose: Callable[..., tuple[int, str, str]],
):
    records = town(200)
    table = {name: [record[name] for record in records] for name in ("age", "sex", "grade")}
    sensitive = {"grade": {"distance": "ordered", "t": "0.5"}}
    conf = run_file(table, sensitive=sensitive, k="auto", privacy={"alpha": 1})
    for stage in ("profile", "plan", "anonymize", "verify", "report", "publish"):
        code, shown, said = tclose(stage, conf)
        assert code == 0, said
        if stage == "plan":
            chosen = json.loads((conf.parent / "out/internal/staging/run.json").read_text())[
                "stages"
            ]["plan"]["k"]
            assert f"k = {chosen['k']}, the least of 1 t + 0 NCP for k = 2 to 4" in said
            assert "<- chosen" in shown
    assert chosen["k"] > 2
    certificate = json.loads((conf.parent / "out/public/certificate.json").read_text())
    k = certificate["guarantees"]["k"]
    assert (k["required"], k["chosen"]["alpha"]) == (chosen["k"], "1")
    assert k["achieved"] >= k["required"]
    assert tclose("verify", conf)[0] == 0
