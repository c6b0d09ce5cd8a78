"""Worked examples in docstrings as code on the site: `>>>` at the beginning of a line is a
quotation in Markdown.
"""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *>>> .*(?:\n(?!\s*\n).*)*)", re.MULTILINE)


class FencedExamples(griffe.Extension):
    """Puts every example up to the next empty line into a block of code."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """See griffe: called with every object that was loaded."""
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(r"```pycon\n\1\n```", obj.docstring.value)
