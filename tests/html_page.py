"""What a browser would show of a page, for tests of reports and audits."""

from __future__ import annotations

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "img", "br", "hr", "input"}


class Page(HTMLParser):
    """What a browser would show: the text of rows, list items and blocks, and every tag with its
    attributes.
    """

    def __init__(self, source: str) -> None:
        super().__init__()
        self.source = source
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.blocks: list[tuple[str, str]] = []
        self.feed(source)
        self.close()
        self.blocks = [(tag, text.strip()) for tag, text in self.blocks]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in {"title", "h1", "h2", "h3", "tr", "li", "p", "dt", "dd", "strong", "style"}:
            self.blocks.append((tag, ""))
        if tag in {"th", "td", "small"}:
            self.handle_data(" ")
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, "tags are nested"

    def handle_data(self, data: str) -> None:
        if self.blocks:
            tag, text = self.blocks[-1]
            self.blocks[-1] = (tag, re.sub(r"\s+", " ", text + data).lstrip())

    def only(self, tag: str, *parts: str) -> str:
        """The one block of a tag that has all parts."""
        found = [
            text
            for name, text in self.blocks
            if name == tag and all(part in text for part in parts)
        ]
        assert len(found) == 1, (tag, parts, found)
        return found[0]

    def after(self, term: str) -> str:
        """The description of a term."""
        return self.blocks[self.blocks.index(("dt", term)) + 1][1]

    @property
    def text(self) -> str:
        """All text that is shown."""
        return "\n".join(text for tag, text in self.blocks if tag != "style")

    def bars(self, css: str) -> list[str | None]:
        """The widths of the bars' parts of a CSS class."""
        return [
            attributes["width"]
            for tag, attributes in self.tags
            if tag == "rect" and attributes["class"] == css
        ]
