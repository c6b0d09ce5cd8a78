"""The report as PDF: its colours, its pages, and what is missing without the extra `pdf`."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import tclose_spark as tc
from tclose_spark import cli
from tclose_spark.report import pdf

CSV = "age,sex,disease\n" + "".join(
    f"{20 + i % 9},{'fm'[i % 2]},{('flu', 'gout')[i % 3 == 0]}\n" for i in range(24)
)
RUN = """name: people
input: {path: people.csv, format: csv, options: {header: true}}
output: {path: out}
attributes:
  quasi_identifiers: {age: {type: numeric}, sex: {}}
  sensitive_attributes: {disease: {t: 0.5}}
privacy: {k: 3}
engine: local
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    (tmp_path / "people.csv").write_text(CSV)
    (tmp_path / "run.yaml").write_text(RUN)
    return tmp_path / "run.yaml"


def released(conf: Path) -> tc.Release:
    return tc.release(None, conf, log=None)


def needs_weasyprint() -> None:
    try:
        pdf.require_pdf()
    except tc.ConfigurationError as error:
        pytest.skip(str(error))


def test_every_colour_of_a_drawing_is_that_of_the_light_page(conf: Path):
    page = released(conf).report.html
    drawings = re.findall(r"<svg.*?</svg>", page, re.DOTALL)
    assert sum("var(--" in svg for svg in drawings) == len(drawings) > 3
    coloured = re.findall(r"<svg.*?</svg>", pdf._with_own_colours(page), re.DOTALL)
    assert len(coloured) == len(drawings)
    assert not any("var(" in svg for svg in coloured)
    (track,) = {
        m for svg in coloured for m in re.findall(r'class="track" style="fill: (\S+)"', svg)
    }
    assert f"--track: {track};" in page.partition("}")[0]


def test_shapes_without_a_colour_of_their_own_would_be_black(conf: Path):
    for svg in re.findall(r'<svg class="bar.*?</svg>', released(conf).report.html, re.DOTALL):
        assert all("fill: " in shape for shape in re.findall(r"<rect[^>]*>", svg))


def test_texts_outside_of_drawings_are_unchanged():
    page = "<style>:root { --ink: #111; } p { color: var(--ink) }</style><p>var(--ink)</p>"
    assert pdf._with_own_colours(page) == page


def test_a_report_becomes_pages(conf: Path):
    needs_weasyprint()
    made, target = released(conf), conf.parent / "report.pdf"
    made.report.to_pdf(target)
    found = target.read_bytes()
    assert found.startswith(b"%PDF-")
    assert len(found) > 10_000
    with pytest.raises(tc.ConfigurationError, match="cannot be written"):
        made.report.to_pdf(conf.parent / "nowhere/report.pdf")


def test_a_command_writes_the_pdf_beside_the_release(
    conf: Path,
    capsys: pytest.CaptureFixture[str],
):
    needs_weasyprint()
    target = conf.parent / "report.pdf"
    assert cli.run_command(["release", str(conf), "--pdf", str(target)], last=False) == 0
    first = target.read_bytes()
    target.write_text("old")
    assert cli.run_command(["release", str(conf), "--pdf", str(target)], last=False) == 2
    assert "--pdf" in capsys.readouterr().err
    assert target.read_text() == "old"
    assert (
        cli.run_command(["release", str(conf), "--if-changed", "--pdf", str(target)], last=False)
        == 0
    )
    assert len(target.read_bytes()) > 0.9 * len(first)


def test_without_the_extra_nothing_is_released(
    conf: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setitem(sys.modules, "weasyprint", None)
    target = conf.parent / "report.pdf"
    assert cli.run_command(["release", str(conf), "--pdf", str(target)], last=False) == 2
    assert "pip install 'tclose-spark[pdf]'" in capsys.readouterr().err
    assert not target.exists()
    assert not (conf.parent / "out").exists()
    with pytest.raises(tc.ConfigurationError, match="tclose-spark\\[pdf\\]"):
        released(conf).report.to_pdf(target)
