"""Compiled templates are kept, and a page needs no place to keep them."""

from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from tclose_spark.io import template_cache


def page(cache: object) -> str:
    return (
        Environment(loader=DictLoader({"page": "{{ 6 * 7 }}"}), bytecode_cache=cache)
        .get_template("page")
        .render()
    )


def test_a_compiled_template_is_kept(tmp_path: Path) -> None:
    assert page(template_cache.TemplateCache(str(tmp_path))) == "42"
    assert len(list(tmp_path.iterdir())) == 1


def test_a_page_needs_no_place_for_compiled_templates(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert page(template_cache.TemplateCache(str(tmp_path / "missing"))) == "42"

    def refuse() -> None:
        raise RuntimeError

    monkeypatch.setattr(template_cache, "TemplateCache", refuse)
    assert template_cache.template_cache() is None
