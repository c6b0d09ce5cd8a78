"""An option of another package works from the run file to the certificate without a change to this
one.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import make_dataclass, replace
from pathlib import Path
from typing import Any

import deltalake
import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from strategies import drawn

from tclose_spark.cli import main
from tclose_spark.errors import ConfigurationError
from tclose_spark.report.certificate.schema import FILE
from tclose_spark.report.option_words import OptionWords
from tclose_spark.requirements.figures import OptionFigures
from tclose_spark.runfile import brought
from tclose_spark.runfile.loading import load_spec
from tclose_spark.runfile.options import OPTIONS, used_parts

SOURCE = Path(__file__).parent / "stamp"
SCHEMA = json.loads(FILE.read_text())
ROWS = 40
PEOPLE = pa.table(
    {
        "age": [20 + 7 * i % 61 for i in range(ROWS)],
        "disease": [["flu", "gout"][i % 2] for i in range(ROWS)],
    },
)


@pytest.fixture(scope="module", autouse=True)
def stamp_installed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The package stamp and its entry point."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True)
    made = folder / "stamp-1.dist-info"
    made.mkdir()
    (made / "METADATA").write_text("Metadata-Version: 2.1\nName: stamp\nVersion: 1\n")
    (made / "entry_points.txt").write_text("[tclose_spark.options]\nstamp = stamp\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        brought.modules.cache_clear()
        yield folder
    brought.modules.cache_clear()


@pytest.fixture
def conf(tmp_path: Path) -> Callable[..., Path]:
    """`conf(stamp=...)`: a run file on this process."""

    def write(**more: Any) -> Path:
        pq.write_table(PEOPLE, tmp_path / "people.parquet")
        tree = {
            "name": "people",
            "input": {"path": "people.parquet", "format": "parquet"},
            "output": {"path": "out"},
            "engine": "local",
            "attributes": {
                "quasi_identifiers": {"age": {"type": "numeric"}},
                "sensitive_attributes": {"disease": {"t": "0.4"}},
            },
            "privacy": {"k": 5},
            **more,
        }
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(tree))
        return path

    return write


def test_it_is_written_judged_and_certified(conf: Callable[..., Path], tmp_path: Path) -> None:
    path = conf(stamp={"text": "draft"})
    assert main(["release", str(path)]) == 0
    released = deltalake.DeltaTable(str(tmp_path / "out/public/release")).to_pyarrow_table()
    assert released.column_names == ["age", "disease", "stamp"]
    assert set(released["stamp"].to_pylist()) == {"draft"}
    certificate = json.loads((tmp_path / "out/public/certificate.json").read_text())
    assert certificate["stamp"] == {"text": "draft", "rows": ROWS}
    assert certificate["release"]["columns"] == released.column_names
    assert main(["verify", str(path)]) == 0


def test_a_release_with_another_text_is_not_published(
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import stamp_maker

    monkeypatch.setattr(stamp_maker, "text_of", lambda spec: "final")
    assert main(["release", str(conf(stamp={"text": "draft"}))]) == 1
    assert f"stamp: {ROWS} rows have another text" in capsys.readouterr().err
    assert not (tmp_path / "out/public").exists()


def test_a_run_without_it_imports_none_of_it(
    conf: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = load_spec(conf())
    unused = [option for option in OPTIONS if not option.used(spec)]
    assert {"people", "lines", "forms", "suppression"} <= {option.name for option in unused}
    modules = [option.module(part) for option in unused for part in option.parts]
    for module in (*modules, "stamp", "stamp_maker", "stamp_judge"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    assert used_parts(spec, "judge") == []
    assert [one.__name__ for one in used_parts(spec, "maker")] == ["ObserversMaker", "LinkedMaker"]
    assert not sys.modules.keys() & {*modules, "stamp", "stamp_maker", "stamp_judge"}


def test_its_settings_decide_the_release(conf: Callable[..., Path]) -> None:
    one, other = (load_spec(conf(stamp={"text": text})) for text in ("draft", "final"))
    assert one.fingerprint != other.fingerprint
    assert one.model_dump()["stamp"] == {"text": "draft"}
    with pytest.raises(ConfigurationError, match="words"):
        load_spec(conf(stamp={"words": "draft"}))


def test_without_the_package_the_key_is_unknown(
    conf: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = conf(stamp={"text": "draft"})
    monkeypatch.setattr("tclose_spark.runfile.spec.modules", lambda what: {})
    with pytest.raises(ConfigurationError, match="stamp"):
        load_spec(path)


def test_the_name_under_which_settings_are_kept_is_no_key(conf: Callable[..., Path]) -> None:
    with pytest.raises(ConfigurationError, match="brought: unknown key"):
        load_spec(conf(brought=[1]))


def test_a_broken_package_is_named(
    stamp_installed: Path,
    conf: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (stamp_installed / "odd.py").write_text("OPTION = 1\n")
    for name in ("tclose_spark.runfile.spec.modules", "tclose_spark.runfile.brought.modules"):
        monkeypatch.setattr(
            name,
            lambda what="requirement": {"odd": "odd"} if what == "option" else {},
        )
    with pytest.raises(
        ConfigurationError,
        match="odd is brought by odd, which holds no option of this name",
    ):
        load_spec(conf(odd={}))


def test_a_part_that_nothing_would_call_is_refused(
    conf: Callable[..., Path],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import stamp

    parts = {"jugde": stamp.OPTION.parts["judge"]}
    monkeypatch.setattr(stamp, "OPTION", replace(stamp.OPTION, parts=parts))
    with pytest.raises(
        ConfigurationError,
        match="stamp has the part 'jugde'; expected reader, maker, judge, words",
    ):
        load_spec(conf(stamp={"text": "draft"}))


def test_rows_beside_raw_values_of_an_earlier_write_are_not_kept(
    conf: Callable[..., Path],
    tmp_path: Path,
) -> None:
    path = str(conf())
    for stage, more in (
        ("profile", ()),
        ("plan", ()),
        ("anonymize", ("--set", "output.keep_linked=true")),
    ):
        assert main([stage, path, *more]) == 0
    assert (tmp_path / "out/internal/staging/linked").exists()
    for stage in ("anonymize", "verify", "report", "publish"):
        assert main([stage, path]) == 0
    assert not (tmp_path / "out/internal/linked").exists()


def test_its_words_replace_no_key_of_the_certificate(
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import stamp

    monkeypatch.setattr(stamp, "words", lambda spec, figures: {"verdict": "holds well"})
    assert main(["release", str(conf(stamp={"text": "draft"}))]) == 2
    assert "the option stamp of another package changes 'verdict'" in capsys.readouterr().err
    assert not (tmp_path / "out/public").exists()


def judged_by(monkeypatch: pytest.MonkeyPatch, figure: str) -> None:
    """Lets the judge of the option report a figure of this name."""
    import stamp_judge

    kind = make_dataclass("Changed", [(figure, int)], bases=(OptionFigures,), frozen=True)
    monkeypatch.setattr(stamp_judge.StampJudge, "makes", kind)
    monkeypatch.setattr(stamp_judge.StampJudge, "report", lambda self, release: kind(99))


CHANGES = ("smallest_class", "ncp_by_quasi_identifier", "attributes", "warnings", "rows")


@pytest.mark.parametrize("figure", CHANGES)
def test_it_changes_no_figure_of_the_verifier(
    figure: str,
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    judged_by(monkeypatch, figure)
    assert main(["release", str(conf(stamp={"text": "draft"}))]) == 2
    assert (
        f"the option stamp of another package changes '{figure}', which is there already"
        in capsys.readouterr().err
    )
    assert not (tmp_path / "out/public").exists()


@drawn(30)
@given(
    st.dictionaries(
        st.sampled_from("abc"),
        st.recursive(st.integers(), lambda x: st.lists(x)),
        min_size=1,
    ),
    st.data(),
)
def test_an_option_of_another_package_adds_keys_and_changes_none(
    kept: dict[str, Any],
    data: st.DataObject,
) -> None:
    own, more = dict(kept), data.draw(st.dictionaries(st.sampled_from("abcde"), st.integers()))
    changed = {name for name in kept.keys() & more.keys() if more[name] != kept[name]}
    if changed:
        with pytest.raises(ConfigurationError, match="which is there already"):
            brought.add_own("stamp", own, lambda seen: seen.update(more))
        assert own == kept
    else:
        brought.add_own("stamp", own, lambda seen: seen.update(more))
        assert own == {**more, **kept}


def test_its_sections_of_the_page_replace_none(
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import stamp

    class Words(OptionWords):
        def own_sections(self, made: Any) -> dict[str, Any]:
            return {"stamp": {}}

        def variables(self, certificate: Any) -> dict[str, Any]:
            return {"holds": True}

    monkeypatch.setattr(stamp, "words", Words)
    assert main(["release", str(conf(stamp={"text": "draft"}))]) == 0, "it says the same"
    monkeypatch.setattr(
        Words,
        "sections",
        lambda self, certificate, figures: {"utility": {"ncp": 0}},
    )
    assert main(["release", str(conf(stamp={"text": "final"}, output={"path": "other"}))]) == 2
    assert "the option stamp of another package changes 'utility'" in capsys.readouterr().err
    assert not (tmp_path / "other/public").exists()


def test_the_certificate_names_the_package_and_its_version(
    stamp_installed: Path,
    conf: Callable[..., Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = conf(stamp={"text": "draft"})
    assert main(["release", str(path)]) == 0
    certificate = json.loads((tmp_path / "out/public/certificate.json").read_text())
    named = [{"kind": "option", "name": "stamp", "package": "stamp", "version": "1"}]
    assert certificate["brought"] == named
    jsonschema.validate(certificate, SCHEMA)
    with pytest.raises(jsonschema.ValidationError, match="stamp"):
        jsonschema.validate(
            {key: part for key, part in certificate.items() if key != "brought"},
            SCHEMA,
        )
    assert (
        "the option stamp is brought by stamp 1"
        in (tmp_path / "out/public/report.html").read_text()
    )
    assert main(["verify", str(path)]) == 0
    capsys.readouterr()
    metadata = stamp_installed / "stamp-1.dist-info/METADATA"
    text = metadata.read_text()
    try:
        metadata.write_text(text.replace("Version: 1", "Version: 2"))
        assert main(["verify", str(path)]) == 1
        assert "is of version 1 of stamp, and this is 2" in capsys.readouterr().err
        assert main(["verify", str(path), "--other-version"]) == 0
    finally:
        metadata.write_text(text)
