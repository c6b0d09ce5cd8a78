"""Every sentence of docs/promise.md is held by a test in this folder, or explains."""

from __future__ import annotations

import pytest
from promise_page import PAGE, claimed, explanations, sentences_of

SENTENCES = sentences_of(PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("sentence", SENTENCES)
def test_each_sentence_is_tested_or_explains(sentence: str) -> None:
    tests = [name for words, name in claimed().items() if sentence.startswith(words)]
    explains = [words for words in explanations() if sentence.startswith(words)]
    assert tests or explains
    assert not (tests and explains)


@pytest.mark.parametrize("words", [*claimed(), *explanations()])
def test_what_is_quoted_stands_on_the_page(words: str) -> None:
    assert sum(sentence.startswith(words) for sentence in SENTENCES) == 1
