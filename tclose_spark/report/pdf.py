"""A report page as PDF, to sign and to file. WeasyPrint renders it: the optional extra `pdf`."""

from __future__ import annotations

import logging
import re

from tclose_spark.errors import ConfigurationError

MISSING = (
    "a PDF needs WeasyPrint ({problem}): pip install 'tclose-spark[pdf]'; it uses the system's "
    "Pango, on Debian apt-get install libpango-1.0-0 libpangoft2-1.0-0"
)


def require_pdf() -> None:
    """Raises ConfigurationError unless PDFs can be made here."""
    try:
        import weasyprint  # noqa: F401 - what pdf_of needs
    except (ImportError, OSError) as error:  # OSError: Pango's libraries
        problem = (
            "not installed" if isinstance(error, ImportError) else "the library Pango is missing"
        )
        raise ConfigurationError(MISSING.format(problem=problem)) from None


def pdf_of(page: str) -> bytes:
    """A page as PDF, in the style of print. Nothing is fetched, because pages load nothing.

    Raises:
        ConfigurationError: if WeasyPrint or Pango is missing.
    """
    require_pdf()
    from weasyprint import HTML

    logging.getLogger("weasyprint").setLevel(logging.ERROR)  # or it reports properties of screens
    made: bytes = HTML(string=_with_own_colours(page)).write_pdf()
    return made


def _with_own_colours(page: str) -> str:
    """A page whose plots name their colours, those of the page's light style. WeasyPrint knows no
    variables of a page inside an SVG.

    >>> _with_own_colours("<style>:root { --ink: #111; }</style><svg><rect style='fill: var(--ink)'/></svg>")[-37:]
    "<svg><rect style='fill: #111'/></svg>"
    """
    colours = dict(
        re.findall(r"(--[\w-]+): (#\w+)", page.partition(":root {")[2].partition("}")[0]),
    )

    def coloured(svg: re.Match[str]) -> str:
        return re.sub(r"var\((--[\w-]+)\)", lambda name: colours.get(name[1], name[0]), svg[0])

    return re.sub(r"<svg.*?</svg>", coloured, page, flags=re.DOTALL)
