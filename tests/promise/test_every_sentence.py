"""Every sentence of the promise and of its limits is held by a test in this folder, or explains."""

from __future__ import annotations

from pathlib import Path

import pytest
from promise_page import PARTS, WHOLE, cells_of, claimed, explanations, sentences_of

SENTENCES = [
    sentence for page in WHOLE for sentence in sentences_of(page.read_text(encoding="utf-8"))
]
ELSEWHERE = [
    sentence for page in PARTS for sentence in sentences_of(page.read_text(encoding="utf-8"))
]
LONGEST_LABEL = 6
"""Words of a cell of a table that is no sentence."""


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_sentence_is_tested_or_explains(sentence: str) -> None:
    tests = [name for words, name in claimed().items() if sentence.startswith(words)]
    explains = [words for words in explanations() if sentence.startswith(words)]
    assert tests or explains
    assert not (tests and explains)


@pytest.mark.parametrize("words", claimed())
def test_what_is_tested_stands_on_a_page(words: str) -> None:
    assert sum(sentence.startswith(words) for sentence in [*SENTENCES, *ELSEWHERE]) == 1


@pytest.mark.parametrize("words", explanations())
def test_what_explains_stands_on_a_page(words: str) -> None:
    assert sum(sentence.startswith(words) for sentence in SENTENCES) == 1


@pytest.mark.parametrize("page", WHOLE, ids=lambda page: page.name)
def test_no_claim_hides_in_a_table(page: Path) -> None:
    cells = cells_of(page.read_text(encoding="utf-8"))
    assert cells
    assert [
        cell for cell in cells if not cell.endswith(".") and len(cell.split()) > LONGEST_LABEL
    ] == []
