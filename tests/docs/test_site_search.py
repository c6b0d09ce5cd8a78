"""The site's search, as the browser runs it: the first page that each word finds is the one that
answers it.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.more

WORDS = {
    "several rows": "people/",
    "per person": "people/",
    "hospital": "people/",
    "population": "population/",
    "threshold": "population/#in-a-run-file",
    "weights": "population/#weights-of-a-survey",
    "codebook": "reference/files/#the-codebook",
    "PDF": "reports/#as-pdf",
    "suppression": "limits/#suppressed-rows",
    "k-anonymity": "concepts/#k-no-one-is-alone",
    "l-diversity": "concepts/#l-not-all-alike",
    "t-closeness": "concepts/#t-a-class-says-what-the-whole-table-says",
    "board": "concepts/#to-explain-t-to-a-board",
    "disclosure control": "concepts/#other-words",
    "anonymise": "concepts/#other-words",
    "anonymize": "commands/stages/",
    "pseudonymise": "concepts/#other-words",
    "p-sensitive": "concepts/#other-words",
    "recoding": "concepts/#other-words",
    "microdata": "concepts/#other-words",
    "small cells": "left_out/#small-cells-of-tables-of-counts",
    "differential privacy": "left_out/#perturbation-and-differential-privacy",
    "GDPR": "profiles/#gdpr",
    "HIPAA": "profiles/#hipaa-safe-harbor",
    "census": "commands/generate/",
    "restart": "commands/release/#a-run-that-broke-off-restart-or-resume",
    "resume": "commands/release/#a-run-that-broke-off-restart-or-resume",
    "Airflow": "airflow/",
    "dbt": "pipelines/",
    "Databricks": "databricks/",
    "S3": "storage/#s3",
    "Azure": "storage/#azure",
    "memory": "clusters/#memory",
    "slow": "performance/#if-a-run-is-slow",
    "tclose audit": "commands/audit/",
    "verify": "commands/verify/",
    "monthly": "every_month/",
    "CSV": "inputs/#csv",
    "sensitive attributes": "several/",
    "cluster": "clusters/",
    "install": "#install",
    "exit code": "reference/exit_codes/",
    "ARX": "others/",
    "hierarchy": "commands/hierarchy/",
    "hierarchies": "hierarchies/",
}


@pytest.fixture(scope="module")
def found(site: Path) -> dict[str, list[str]]:
    """By word, the places that it finds, the best first."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js runs the search, and is not installed")
    search = Path(__file__).with_name("search.js")
    done = subprocess.run([node, search, site, *WORDS], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(("word", "place"), WORDS.items())
def test_a_word_finds_first_the_page_that_answers_it(
    found: dict[str, list[str]],
    word: str,
    place: str,
) -> None:
    assert found[word][0].startswith(place), found[word][:5]
    page = place.partition("#")[0]
    assert found[word][0].partition("#")[0] == page
