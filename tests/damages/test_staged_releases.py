"""A staged release that was damaged before `verify`, or between the stages after it: nothing of it
is published.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from acts import Damage, content, gone, new_file, rewritten, text_of
from checks import checks_in
from damaged_tables import TABLES
from forged_releases import FORGED, WITH_L, WITH_T, forge
from people import PEOPLE, ROLES, run_stages
from tried import Tried

from tclose_spark import pipeline
from tclose_spark.errors import TcloseError
from tclose_spark.io.run import Run

OpenRun = Callable[..., Run]
BEFORE_VERIFY = ("profile", "plan", "anonymize")


@pytest.fixture(scope="session")
def built(write_run: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run file whose hierarchy of ages is built, so that it is part of what is staged."""
    quasi = {
        "age": {"type": "numeric", "hierarchy": {"intervals": [5, 10]}},
        "city": {"hierarchy": "cities.csv"},
    }
    return write_run(tmp_path_factory.mktemp("built"), PEOPLE, **{**ROLES, "quasi": quasi})


@pytest.fixture(scope="session")
def written(
    conf: Path,
    built: Path,
    open_run: OpenRun,
    tmp_path_factory: pytest.TempPathFactory,
) -> Callable[..., Path]:
    """`written(*sets, built=False)`: an output whose release is written, and not yet verified. Not
    to be changed.
    """
    made: dict[Any, Path] = {}

    def write(*sets: str, of: Path = conf) -> Path:
        if (sets, of) not in made:
            folder = made[sets, of] = tmp_path_factory.mktemp("written") / "out"
            run_stages(open_run(of, *sets, f"output.path={folder}"), *BEFORE_VERIFY)
        return made[sets, of]

    return write


@pytest.fixture
def staged(written: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """`staged(*sets)`: a copy of such an output, and nothing else in its folder."""
    return lambda *sets, **of: Path(shutil.copytree(written(*sets, **of), tmp_path / "out"))


def refuse(run: Run, *stages: str) -> TcloseError:
    """The error of the first of these stages that fails; nothing is public then."""
    with pytest.raises(TcloseError) as found:
        run_stages(run, *stages)
    assert not (Path(run.public.path()) / "certificate.json").exists()
    assert not (Path(run.public.path()) / "release").exists()
    return found.value


# --- the table

OF_TABLE: dict[str, tuple[str, Damage]] = {
    f"{check}: {name}": (check, damage)
    for check, damages in TABLES.items()
    for name, damage in damages.items()
}
TABLE = Tried("damages", "of a staged release", OF_TABLE)


@pytest.mark.parametrize("name", OF_TABLE)
def test_its_own_check_finds_a_damage(
    staged: Callable[..., Path],
    conf: Path,
    open_run: OpenRun,
    name: str,
) -> None:
    output, (check, damage) = staged(), OF_TABLE[name]
    damage(output / "internal/staging")
    error = refuse(open_run(conf, f"output.path={output}"), "verify")
    assert error.exit_code == 1
    assert check in checks_in(str(error)), str(error)
    refuse(open_run(conf, f"output.path={output}"), "report")
    TABLE.found(name)


def test_what_is_not_damaged_is_published(
    staged: Callable[..., Path],
    conf: Path,
    open_run: OpenRun,
) -> None:
    output = staged()
    rewritten(lambda release: release.sample(frac=1, random_state=1))(
        output / "internal/staging",
    )  # in another order
    run_stages(open_run(conf, f"output.path={output}"), "verify", "report", "publish")
    assert (output / "public/certificate.json").exists()


# --- classes at a requirement, and one record beyond

REQUIREMENTS = Tried(
    "damages",
    "of a requirement, by one record, with the right hash",
    [n for n in FORGED if FORGED[n].broken],
)


@pytest.mark.parametrize("name", FORGED)
def test_exactly_the_broken_requirements_are_named(
    staged: Callable[..., Path],
    conf: Path,
    open_run: OpenRun,
    name: str,
) -> None:
    forged = FORGED[name]
    output = staged(*forged.sets)
    forge(output / "internal/staging", forged.first)
    run = open_run(conf, *forged.sets, f"output.path={output}")
    if forged.broken:
        error = refuse(run, "verify")
        assert (error.exit_code, checks_in(str(error))) == (1, set(forged.broken))
        REQUIREMENTS.found(name)
    else:
        assert pipeline.verify(run).holds


@pytest.mark.parametrize("sets", [WITH_T, WITH_L], ids=["t", "l"])
def test_a_forged_release_without_its_hash_is_found(
    staged: Callable[..., Path],
    conf: Path,
    open_run: OpenRun,
    sets: tuple[str, ...],
) -> None:
    output = staged(*sets)
    state = (output / "internal/staging/run.json").read_text()
    forge(output / "internal/staging", (9, 2, 2))
    (output / "internal/staging/run.json").write_text(state)
    error = refuse(open_run(conf, *sets, f"output.path={output}"), "verify")
    assert "hash of the release" in checks_in(str(error))


# --- what is staged beside the release


def in_state(*path: str, value: Any) -> Damage:
    """Another value in the state of the run."""

    def damage(area: Path) -> None:
        state = json.loads((area / "run.json").read_text())
        holder = state["stages"]
        for key in path[:-1]:
            holder = holder[key]
        assert holder[path[-1]] != value
        holder[path[-1]] = value
        (area / "run.json").write_text(json.dumps(state))

    return damage


def in_profile(change: Callable[[dict[str, Any]], object]) -> Damage:
    """Another profile of the input, whose hash the state of the run lists."""

    def damage(area: Path) -> None:
        profile, state = (
            json.loads((area / name).read_text()) for name in ("profile.json", "run.json")
        )
        change(profile)
        text = json.dumps(profile)
        (area / "profile.json").write_text(text)
        state["stages"]["profile"]["handed_on"]["profile.json"] = hashlib.sha256(
            text.encode(),
        ).hexdigest()
        (area / "run.json").write_text(json.dumps(state))

    return damage


BESIDE: Mapping[str, Mapping[str, tuple[int, Damage]]] = {
    "hash of the input": {
        "another hash of the checked rows": (
            1,
            in_state("anonymize", "written", "raw", value="30-0000000000000000"),
        ),
        "another hash of the input": (
            1,
            in_state("profile", "input", "fingerprint", value="30-0000000000000000"),
        ),
        "another hash in the profile": (
            1,
            in_profile(lambda it: it.update(fingerprint="30-0000000000000000")),
        ),
    },
    "hash of the release": {
        "another hash of the release": (
            1,
            in_state("anonymize", "written", "published", value="30-0000000000000000"),
        ),
    },
    "rows": {"more rows in the profile": (1, in_profile(lambda it: it.update(rows=50)))},
    "values": {
        "other counts in the profile": (
            1,
            in_profile(lambda it: it["sensitive"][0].update(counts=[23, 13, 12])),
        ),
        "another value in the profile": (
            1,
            in_profile(lambda it: it["sensitive"][0].update(values=["flu", "gout", "mumps"])),
        ),
    },
    "hierarchies": {
        "a label of a built hierarchy": (2, text_of("hierarchies/age.csv", r"\[20, ", "[19, ")),
        "a line less of a built hierarchy": (
            2,
            content("hierarchies/age.csv", lambda whole: whole[whole.index(b"\n") + 1 :]),
        ),
        "a built hierarchy gone": (2, gone("hierarchies/age.csv")),
        "the built hierarchies gone": (2, gone("hierarchies")),
    },
    "staged evidence": {
        "the profile gone": (2, gone("profile.json")),
        "the profile cut short": (2, content("profile.json", lambda whole: whole[:-10])),
        "the figures of the mechanism gone": (2, gone("minimality.json")),
        "the figures of the mechanism cut short": (
            2,
            content("minimality.json", lambda whole: whole[:-10]),
        ),
        "the state cut short": (2, content("run.json", lambda whole: whole[:-10])),
        "the state empty": (2, content("run.json", lambda whole: b"")),
    },
}
OF_BESIDE = {
    f"{check}: {name}": (check, *case)
    for check, cases in BESIDE.items()
    for name, case in cases.items()
}
STAGED = Tried("damages", "of what is staged beside a release", OF_BESIDE)


@pytest.mark.parametrize("name", OF_BESIDE)
def test_what_is_staged_beside_the_release_is_compared(
    staged: Callable[..., Path],
    built: Path,
    open_run: OpenRun,
    name: str,
) -> None:
    output, (check, code, damage) = staged(of=built), OF_BESIDE[name]
    damage(output / "internal/staging")
    error = refuse(open_run(built, f"output.path={output}"), "verify")
    assert (error.exit_code, check in checks_in(str(error))) == (code, True), str(error)
    assert (
        pipeline.release(open_run(built, f"output.path={output}"))["verdict"] == "holds"
    )  # begins again
    STAGED.found(name)


# --- the run file and the hierarchies that it names

CONFIGURATION: Mapping[str, Damage] = {
    "another k": text_of("run.yaml", "k: 5", "k: 4"),
    "another t": text_of("run.yaml", "t: '0.2'", "t: '0.3'"),
    "another l": text_of("run.yaml", "distinct: 2", "distinct: 1"),
    "another role": text_of("run.yaml", "numeric", "categorical"),
    "another method": text_of("run.yaml", "stack_and_deal", "closeness_tree"),
    "a label of a hierarchy": content(
        "cities.csv",
        lambda whole: whole.replace(b"Italy", b"Italia"),
    ),
    "a leaf more of a hierarchy": content(
        "cities.csv",
        lambda whole: whole + b"Nowhere;Nowhere;Nowhere;*\n",
    ),
}
CONFIGURED = Tried("damages", "of the run file and its hierarchies", CONFIGURATION)


@pytest.mark.parametrize("name", CONFIGURATION)
def test_another_configuration_is_no_verdict(
    conf: Path,
    finished: Path,
    staged: Callable[..., Path],
    open_run: OpenRun,
    tmp_path: Path,
    name: str,
) -> None:
    folder = Path(
        shutil.copytree(conf.parent, tmp_path / "conf", ignore=shutil.ignore_patterns("out")),
    )
    before = [file.read_bytes() for file in (folder / "run.yaml", folder / "cities.csv")]
    CONFIGURATION[name](folder)
    assert before != [file.read_bytes() for file in (folder / "run.yaml", folder / "cities.csv")]
    for output in (staged(), Path(shutil.copytree(finished, tmp_path / "finished"))):
        with pytest.raises(TcloseError) as found:
            pipeline.verify(open_run(folder / "run.yaml", f"output.path={output}"))
        assert (found.value.exit_code, checks_in(str(found.value))) == (2, {"configuration"}), str(
            found.value,
        )
    CONFIGURED.found(name)


# --- after verify

AFTER: Mapping[str, tuple[tuple[str, ...], Damage]] = {
    "a value of the release, before the report": (
        ("report",),
        rewritten(lambda it: it.assign(region="north")),
    ),
    "a file of the release, before the report": (("report",), new_file("release/more.parquet")),
    "the class table, before the report": (("report",), gone("classes")),
    "the figures, before the report": (
        ("report",),
        text_of("verification.json", '"smallest_class": ', '"smallest_class": 1'),
    ),
    "the validation, before the report": (("report",), gone("validation")),
    "the report, before the publication": (
        ("publish",),
        text_of("report.html", "</h1>", ", and is harmless</h1>"),
    ),
    "the certificate, before the publication": (
        ("publish",),
        text_of("certificate.json", '"k"', '"K"'),
    ),
    "the codebook, before the publication": (("publish",), text_of("codebook.csv", "quasi", "non")),
    "the contract, before the publication": (
        ("publish",),
        text_of("contract.yaml", "at least", "at most"),
    ),
    "the release, before the publication": (
        ("publish",),
        content("PART", lambda whole: whole[:-1]),
    ),
}
LATER = Tried("damages", "between verify and publish", AFTER)


@pytest.mark.parametrize("name", AFTER)
def test_what_changed_after_the_verdict_is_not_published(
    staged: Callable[..., Path],
    conf: Path,
    open_run: OpenRun,
    name: str,
) -> None:
    output, (stages, damage) = staged(), AFTER[name]
    run = open_run(conf, f"output.path={output}")
    run_stages(run, *(("verify",) if stages == ("report",) else ("verify", "report")))
    damage(output / "internal/staging")
    error = refuse(run, *stages)
    assert error.exit_code == 1
    LATER.found(name)


@pytest.mark.parametrize(
    "tried",
    [TABLE, REQUIREMENTS, STAGED, CONFIGURED, LATER],
    ids=lambda tried: tried.what,
)
def test_the_page_of_what_was_tested_has_these_damages(tried: Tried) -> None:
    tried.compare()
