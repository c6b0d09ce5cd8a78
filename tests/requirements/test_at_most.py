"""A requirement of another package works from the run file to the audit without a change to this
one.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import deltalake
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from tclose_spark.cli import main
from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile import brought
from tclose_spark.runfile.loading import load_spec

SOURCE = Path(__file__).parent / "at_most/at_most.py"
ROWS, ILL = 240, 20
PEOPLE = pa.table(
    {
        "age": [20 + 7 * i % 61 for i in range(ROWS)],
        "zip": [100 + 13 * i % 29 for i in range(ROWS)],
        "disease": [
            "rare" if i % (ROWS // ILL) == 0 else ["flu", "gout", "mumps"][i % 3]
            for i in range(ROWS)
        ],
    },
)
AT_MOST = {"value": "rare", "rows": 3}


@pytest.fixture(scope="module", autouse=True)
def at_most_installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The package at_most and its entry point."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(SOURCE, folder)
    made = folder / "at_most-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: at_most\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[tclose_spark.requirements]\nat_most = at_most\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        brought.modules.cache_clear()
        yield
    brought.modules.cache_clear()
    brought.FOUND.clear()


@pytest.fixture
def conf(tmp_path: Path) -> Iterator[Callable[..., Path]]:
    """`conf(method, at_most, k)`: a run file on this process."""
    brought.FOUND.clear()

    def write(method: str = "closeness_tree", at_most: Any = AT_MOST, k: int = 5) -> Path:
        pq.write_table(PEOPLE, tmp_path / "people.parquet")
        tree = {
            "name": "people",
            "input": {"path": "people.parquet", "format": "parquet"},
            "output": {"path": "out"},
            "engine": "local",
            "attributes": {
                "quasi_identifiers": {name: {"type": "numeric"} for name in ("age", "zip")},
                "sensitive_attributes": {"disease": {"t": "0.4", "at_most": at_most}},
            },
            "privacy": {"k": k},
            "method": {"name": method},
        }
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(tree))
        return path

    yield write
    brought.FOUND.clear()


def classes_of(folder: Path) -> list[list[bool]]:
    """Whether each row of each released class has the value."""
    rows = deltalake.DeltaTable(str(folder / "public/release")).to_pyarrow_table().to_pylist()
    classes: dict[Any, list[bool]] = {}
    for row in rows:
        classes.setdefault((row["age"], row["zip"]), []).append(row["disease"] == "rare")
    return list(classes.values())


@pytest.mark.parametrize("method", ["closeness_tree", "t_mondrian"])
def test_it_is_planned_judged_and_reported(
    method: str,
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = conf(method)
    assert main(["release", str(path)]) == 0
    output, folder = capsys.readouterr().out, tmp_path / "out"
    certificate = json.loads((folder / "public/certificate.json").read_text())
    entry = certificate["guarantees"]["at_most"]["disease"]
    assert entry["required"] == 3
    assert entry["achieved"] == max(map(sum, classes_of(folder))) <= 3
    assert "at_most of disease" in output
    page = (folder / "public/report.html").read_text()
    assert "At most so many rows of one value" in page
    suite = json.loads((folder / "internal/validation/suite.json").read_text())
    columns = {one["kwargs"].get("column") for one in suite["expectations"]}
    assert {"at_most_disease", "exact_at_most_disease"} <= columns
    assert main(["verify", str(path)]) == 0
    capsys.readouterr()
    # A session of Spark that is there would be chosen, and its workers lack the package.
    audit = ["audit", str(folder / "public/release"), "--config", str(path), "--engine", "local"]
    assert main([*audit, "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    (found,) = [one for one in told["guarantees"] if one["measure"] == "rows of one value"]
    assert (found["asked"], found["achieved"], found["holds"]) == (3, entry["achieved"], True)


def test_methods_keep_its_cap(conf: Callable[..., Path], tmp_path: Path) -> None:
    """No class has the value more than twice as often as the table."""
    assert main(["release", str(conf())]) == 0
    assert all(sum(one) / len(one) <= 2 * ILL / ROWS for one in classes_of(tmp_path / "out"))


def test_a_release_that_breaks_it_is_not_published(
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["release", str(conf(k=ROWS))]) == 1
    error = capsys.readouterr().err
    broken = f"disease: 1 classes ({ROWS} rows) have more than 3 rows with the value of at_most"
    assert f"{broken}; the worst has {ILL}" in error
    assert "Great Expectations: " in error
    assert not (tmp_path / "out/public/certificate.json").exists()


def test_its_settings_decide_the_release(conf: Callable[..., Path]) -> None:
    one, other = load_spec(conf()), load_spec(conf(at_most={"value": "rare", "rows": 4}))
    assert one.fingerprint != other.fingerprint
    assert one.attributes.sensitive_attributes["disease"].model_dump()["at_most"] == AT_MOST
    with pytest.raises(ConfigurationError, match="rows"):
        load_spec(conf(at_most={"value": "rare", "rows": 0}))


def test_without_the_package_the_key_is_unknown(
    conf: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = conf()
    monkeypatch.setattr("tclose_spark.runfile.attributes.modules", dict)
    with pytest.raises(ConfigurationError, match="at_most"):
        load_spec(path)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (None, "cannot be imported, or holds no requirement"),
        ("REQUIREMENT = 1\n", "holds no requirement of this name"),
        ("", "cannot be imported, or holds no requirement"),
    ],
)
def test_a_broken_package_is_named_and_harms_no_other_run(
    source: str | None,
    message: str,
    conf: Callable[..., Path],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if source is not None:
        (tmp_path / "broken.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "broken", raising=False)
    monkeypatch.setattr(
        "tclose_spark.runfile.attributes.modules",
        lambda: {"at_most": "at_most", "odd": "broken"},
    )
    monkeypatch.setattr(brought, "modules", lambda: {"at_most": "at_most", "odd": "broken"})
    path = conf()
    load_spec(path)
    path.write_text(path.read_text().replace("at_most:", "odd:"))
    with pytest.raises(ConfigurationError, match=f"odd is brought by broken, which .*{message}"):
        load_spec(path)


@pytest.mark.parametrize("changed", [{"key": "t"}, {"section": "k"}, {"section": "l"}])
def test_its_words_stand_in_no_place_of_another(
    changed: dict[str, str],
    conf: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import at_most

    words = replace(at_most.REQUIREMENT.words, **changed)
    monkeypatch.setattr(at_most, "REQUIREMENT", replace(at_most.REQUIREMENT, words=words))
    brought.FOUND.clear()
    with pytest.raises(ConfigurationError, match="at_most: its words have the key or section"):
        load_spec(conf())


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"key": "t"}, "its judge has the key 't'; expected 'at_most'"),
        ({"measure": "t-closeness"}, "another requirement of disease measures 't-closeness', too"),
        ({"columns": {"emd": pa.float64(), "exact_at_most": pa.int64()}}, "measures 'emd', too"),
    ],
)
def test_its_judge_measures_nothing_in_place_of_another(
    changed: dict[str, Any],
    message: str,
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import at_most

    made = at_most.REQUIREMENT.judge
    judge = lambda settings, a: replace(made(settings, a), **changed)  # noqa: E731
    monkeypatch.setattr(at_most, "REQUIREMENT", replace(at_most.REQUIREMENT, judge=judge))
    brought.FOUND.clear()
    assert main(["release", str(conf())]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out/public").exists()


def test_the_certificate_names_its_package(conf: Callable[..., Path], tmp_path: Path) -> None:
    assert main(["release", str(conf())]) == 0
    certificate = json.loads((tmp_path / "out/public/certificate.json").read_text())
    expected = {"kind": "requirement", "name": "at_most", "package": "at_most", "version": "1"}
    assert certificate["brought"] == [expected]
