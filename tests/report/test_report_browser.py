"""Reports in a browser: figures are drawn, the console is silent, paper takes them. Skipped without
Chromium.
"""

import re
import shutil
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from some_certificate import certificate_with
from some_figures import figures_with
from test_report_html import EXTREMES, certificate  # noqa: F401 - a fixture

from tclose_spark.report.html import render_report

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))),
    None,
)
pytestmark = pytest.mark.skipif(BROWSER is None, reason="there is no Chromium")


def chromium(page: Path, *more: str) -> subprocess.CompletedProcess[str]:
    flags = [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        f"--user-data-dir={page.parent / 'profile'}",
    ]
    command = [str(BROWSER), *flags, "--enable-logging=stderr", "--v=0", *more, page.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)


def figures(*attributes: str) -> dict[str, Any]:
    """Made-up figures of all classes."""
    shares = [
        {"bin": 4, "to": 0.2, "classes": 10, "rows": 200},
        {"bin": 8, "to": 0.4, "classes": 2, "rows": 44},
    ]
    emd = [{"bin": 30, "to": 0.15, "classes": 12, "rows": 244}]
    worst = {
        "labels": {"age": "[17, 42]", "sex": None},
        "size": 20,
        "emd": 0.14,
        "values": 2,
        "groups": [{"name": "a", "part": 12, "whole": 50}, {"name": "b", "part": 8, "whole": 50}],
        "moved": 0.1,
        "moves": [{"from": "a", "to": None, "mass": 0.1, "distance": 1.0, "cost": 0.1}],
        "more_moves": 0,
    }
    return {
        "extremes": EXTREMES,
        "worst": dict.fromkeys(attributes, worst),
        "spreads": {
            "sizes": [{"from": 24, "to": 24, "classes": 12, "rows": 288}],
            "emd": dict.fromkeys(attributes, emd),
            "guess": dict.fromkeys(attributes, shares),
            "gain": dict.fromkeys(attributes, shares),
            "precision": {"age": [{"precision": "up to 5 wide", "classes": 12, "rows": 244}]},
        },
    }


@pytest.fixture
def page(certificate: dict[str, Any], tmp_path: Path) -> Path:  # noqa: F811
    path = tmp_path / "report.html"
    path.write_text(
        render_report(
            certificate_with(certificate),
            figures_with(**figures("occupation", "income")),
        ),
    )
    return path


def test_figures_are_drawn_and_the_console_is_silent(page: Path):
    shown = chromium(page, "--dump-dom")
    assert "CONSOLE" not in shown.stderr
    plots = re.findall(
        r'<svg viewBox="[^"]+" role="img" aria-label="[^"]+">(.*?)</svg>',
        shown.stdout,
        re.DOTALL,
    )
    assert len(plots) == 5  # sizes; distances and the farthest class of two attributes
    assert all("<path" in plot and "<text" in plot for plot in plots)
    headings = [int(level) for level in re.findall(r"<h([1-6])", shown.stdout)]
    assert headings[0] == 1
    assert all(after <= before + 1 for before, after in pairwise(headings))


def test_it_prints(page: Path):
    chromium(page, "--no-pdf-header-footer", f"--print-to-pdf={page.parent / 'report.pdf'}")
    printed = (page.parent / "report.pdf").read_bytes()
    assert printed.startswith(b"%PDF")
    assert b"/MediaBox [0 0 594.9" in printed.replace(b"/MediaBox[", b"/MediaBox [")  # A4
