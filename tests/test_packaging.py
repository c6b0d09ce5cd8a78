"""What is handed out: a wheel and a source distribution, built as `make dist` builds them, and what
they hold.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.metadata import Metadata

import tclose_spark

pytestmark = pytest.mark.more

ROOT = Path(__file__).parent.parent
SOURCES = (
    "pyproject.toml",
    "README.md",
    "LICENSE",
    "MANIFEST.in",
    "CITATION.cff",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
)
FOLDERS = ("tclose_spark", "docs", "conf", "jobs", "tests")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of both distributions, built from a copy of the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        shutil.copy(ROOT / name, copy / name)
    for name in FOLDERS:
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", copy / "dist", copy],
        check=True,
        capture_output=True,
    )
    return copy / "dist"


@pytest.fixture(scope="module")
def wheel(built: Path) -> zipfile.ZipFile:
    (path,) = built.glob("*.whl")
    return zipfile.ZipFile(path)


def test_a_wheel_has_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    files = {name for name in wheel.namelist() if ".dist-info/" not in name}
    package = (
        path
        for path in (ROOT / "tclose_spark").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    )
    assert files == {str(path.relative_to(ROOT)) for path in package}


def test_a_wheel_is_small(built: Path) -> None:
    (path,) = built.glob("*.whl")
    assert path.stat().st_size < 2_000_000


def test_the_citation_names_this_version() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["version"], citation["license"]) == (tclose_spark.__version__, "Apache-2.0")


def test_metadata_is_valid_and_complete(wheel: zipfile.ZipFile) -> None:
    (name,) = (name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    metadata = Metadata.from_email(wheel.read(name), validate=True)
    assert str(metadata.version) == tclose_spark.__version__
    assert metadata.license_expression == "Apache-2.0"
    assert metadata.description == (ROOT / "README.md").read_text()
    assert {"spark", "analysis"} <= set(metadata.provides_extra or [])
    always = {required.name for required in metadata.requires_dist or [] if required.marker is None}
    assert "deltalake" in always
    assert not {"pyspark", "delta-spark"} & always
    (commands,) = (name for name in wheel.namelist() if name.endswith("entry_points.txt"))
    assert "tclose = tclose_spark.__main__:main" in wheel.read(commands).decode()


def test_a_source_distribution_has_what_a_wheel_is_made_of_and_no_tests(
    built: Path,
    wheel: zipfile.ZipFile,
) -> None:
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as archive:
        files = {name.partition("/")[2] for name in archive.getnames()}
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} <= files
    assert {
        *SOURCES,
        "docs/promise.md",
        "docs/limits.md",
        "conf/demo.yaml",
        "jobs/release.py",
    } <= files
    assert not [name for name in files if name.startswith(("tests", "benchmarks"))]


def test_the_changelog_begins_with_this_version() -> None:
    headings = [
        line for line in (ROOT / "CHANGELOG.md").read_text().splitlines() if line.startswith("## ")
    ]
    assert headings[0].split()[1] == tclose_spark.__version__


def test_make_keeps_bytecode_where_the_shell_forbids_it() -> None:
    show = "show: ; @echo [$$PYTHONDONTWRITEBYTECODE]"
    shell = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        ["make", "-s", "--eval", show, "show"],
        cwd=ROOT,
        env=shell,
        capture_output=True,
        text=True,
    )
    assert done.stdout == "[]\n", done.stderr


def test_every_environment_is_installed_at_pinned_hashes() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    lists = [line for line in makefile.splitlines() if re.search(r"-r requirements/|\$\(2\)", line)]
    assert lists
    assert all("--require-hashes" in line or "$(call install," in line for line in lists)
    for name in set(re.findall(r"requirements/[a-z0-9]+\.txt", makefile)):
        assert "--hash=sha256:" in (ROOT / name).read_text(encoding="utf-8"), name
