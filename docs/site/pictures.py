"""Draws the pictures of the pages: `make pictures` writes them to docs/pictures. Those of reports
are the tutorial's reports as Chromium shows them.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from unittest.mock import patch

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from deltalake import DeltaTable
from matplotlib.axes import Axes
from PIL import Image

sys.path.insert(0, str(Path(__file__).parent))
import outputs

import tclose_spark as tc
from tclose_spark.measures.distances.ground_distances import OrderedDistance
from tclose_spark.measures.distances.transport import transport_plan

PICTURES = Path(__file__).resolve().parent.parent / "pictures"
CLASS, TABLE, ARROW, INK = "#3949ab", "#c5cae9", "#d84315", "#333333"
CLASSES = ("#c5cae9", "#ffe0b2", "#c8e6c9", "#f8bbd0")
CHROMIUM = next(
    (name for name in ("chromium", "google-chrome", "chrome") if shutil.which(name)),
    None,
)
SCREEN = "body {background: white} section, footer {display: none}"


def earth_movers_distance(path: Path) -> None:
    """The heaps of a class, those of the table, and the cheapest way from one to the other
    (docs/concepts.md).
    """
    table, held = np.full(6, 2), np.array([2, 2, 0, 0, 0, 0])
    plan = transport_plan(OrderedDistance(table), held)
    figure, (above, below) = plt.subplots(
        2,
        1,
        figsize=(6.4, 4.2),
        sharex=True,
        gridspec_kw={"height_ratios": [3, 2]},
    )
    pay = np.arange(1, 7)
    above.bar(pay, held / held.sum(), width=0.6, color=CLASS, label="class of four people")
    above.bar(
        pay,
        table / table.sum(),
        width=0.6,
        color="none",
        edgecolor=INK,
        linestyle=":",
        label="table of twelve",
    )
    for move in plan.moves:
        start, end = move.source + 1, move.target + 1
        arrow = {
            "arrowstyle": "-|>",
            "color": ARROW,
            "connectionstyle": "arc3,rad=-0.35",
            "linewidth": 12 * float(move.mass),
        }
        above.annotate("", (end, 1 / 6), (start, 0.42), arrowprops=arrow)
    above.set_ylim(0, 0.66)
    above.set_ylabel("share of people")
    above.legend(frameon=False, loc="upper right")
    reached = np.cumsum(held / held.sum()) - np.cumsum(table / table.sum())
    below.bar(pay[:-1] + 0.5, reached[:-1], width=0.95, color=TABLE, edgecolor=INK, linewidth=0.6)
    for place, mass in zip(pay[:-1] + 0.5, reached[:-1], strict=True):
        below.text(place, mass / 2, f"{round(6 * mass)}/6", ha="center", va="center", color=INK)
    below.set_ylabel("mass that\npasses")
    below.set_xlabel(
        f"pay\nearth mover's distance = (2 + 4 + 3 + 2 + 1) / 6 / 5 steps = {plan.cost}",
    )
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def raw_and_released(path: Path) -> None:
    """Twelve people and their release: rows of one class have one colour, and all classes the
    diseases of the table.
    """
    ages = [23, 24, 27, 31, 35, 38, 44, 47, 52, 58, 63, 66]
    ill = [
        "flu",
        "gout",
        "none",
        "none",
        "flu",
        "none",
        "gout",
        "none",
        "flu",
        "none",
        "gout",
        "none",
    ]
    people = pd.DataFrame({"age": ages, "sex": list("fmffmfmfmmfm"), "disease": ill})
    spec = {
        "output": {"keep_linked": True},
        "attributes": {
            "quasi_identifiers": {"age": {"type": "numeric"}, "sex": {}},
            "sensitive_attributes": {"disease": {"t": "0.2"}},
        },
        "privacy": {"k": 4},
    }
    with outputs.folder_of("") as folder:
        made = tc.release(people, spec, output=f"{folder}/out", log=None, engine="local")
        linked = DeltaTable(str(made.internal_path + "/linked")).to_pandas()
    linked["class"] = linked.groupby(["age", "sex"]).ngroup()
    figure, (raw, released, shares) = plt.subplots(
        1,
        3,
        figsize=(9.6, 3.9),
        width_ratios=[2.4, 3, 2.4],
    )
    _table(raw, "The raw table", linked.sort_values("age_raw"), ("age_raw", "sex_raw", "disease"))
    _table(
        released,
        "The release",
        linked.sort_values(["class", "disease"]),
        ("age", "sex", "disease"),
    )
    parts = [linked, *(of for _, of in linked.groupby("class"))]
    for place, part in enumerate(reversed(parts)):
        left = 0.0
        for kind, share in part["disease"].value_counts(normalize=True).sort_index().items():
            colour = "#eeeeee" if part is linked else CLASSES[part["class"].iloc[0]]
            shares.barh(
                place,
                share,
                left=left,
                height=0.62,
                color=colour,
                edgecolor=INK,
                linewidth=0.6,
            )
            shares.text(left + share / 2, place, kind, ha="center", va="center", color=INK)
            left += share
    names = ["table", *(f"class {number + 1}" for number in range(len(parts) - 1))]
    shares.set_yticks(range(len(parts)), reversed(names))
    shares.set_title("What a class shows", loc="left", fontsize=11, fontweight="bold", color=INK)
    shares.set_xticks([])
    shares.tick_params(length=0)
    shares.spines[:].set_visible(False)
    figure.tight_layout(w_pad=2.5)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _table(axes: Axes, title: str, rows: pd.DataFrame, columns: tuple[str, ...]) -> None:
    """A table, each row in the colour of its class."""
    axes.set_title(title, loc="left", fontsize=11, fontweight="bold", color=INK)
    axes.set(xlim=(0, len(columns)), ylim=(len(rows) + 0.5, -1))
    axes.axis("off")
    for column, name in enumerate(columns):
        axes.text(
            column + 0.1,
            -0.5,
            name.removesuffix("_raw"),
            va="center",
            color=INK,
            fontweight="bold",
        )
        for place, (value, number) in enumerate(zip(rows[name], rows["class"], strict=True)):
            axes.fill_betweenx(
                [place + 0.03, place + 0.97],
                column,
                column + 1,
                color=CLASSES[number],
                linewidth=0,
            )
            axes.text(column + 0.1, place + 0.5, str(value), va="center", color=INK)


def of_the_tutorial(folder: Path) -> None:
    """The plot of the tutorial's comparison, and parts of both of its reports."""
    page = (folder.parent / "tutorial.md").read_text()
    (comparison,) = re.findall(r"^    tclose (compare .*)$", page.replace("\\\n", ""), re.MULTILINE)
    with outputs.folder_of(page) as work, patch.dict(os.environ, {"TCLOSE_ENGINE": "local"}):
        outputs.run_all(page)
        outputs.run(f"tclose {comparison}")
        made = Path(work, "people_release")
        (folder / "compare.svg").write_text((made / "compare/compare.svg").read_text())
        _screenshot(
            made / "public/report.html",
            folder / "report.png",
            ("What was released", "What was required"),
        )
        _screenshot(
            made / "internal/report.html",
            folder / "internal.png",
            ("Attacks", "What each column loses"),
        )


def _screenshot(page: Path, picture: Path, sections: tuple[str, ...]) -> None:
    """A page's head and some of its sections."""
    marked = re.sub(
        rf"<section([^>]*)>(?=\s*<h2>(?:{'|'.join(sections)}))",
        r'<section\1 style="display: block">',
        page.read_text(),
    )
    shown = page.with_name("shown.html")
    shown.write_text(marked.replace("</head>", f"<style>{SCREEN}</style></head>"))
    subprocess.run(
        [CHROMIUM, "--headless", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1.5",
         "--window-size=900,1150", f"--screenshot={picture}", shown.as_uri()],
        check=True,
        capture_output=True,
    )  # fmt: skip
    with Image.open(picture) as taken:
        taken.convert("RGB").quantize(64).save(picture, optimize=True)


if __name__ == "__main__":
    plt.rcParams.update({"svg.hashsalt": "tclose", "svg.fonttype": "none", "font.size": 10})
    PICTURES.mkdir(exist_ok=True)
    earth_movers_distance(PICTURES / "emd.svg")
    raw_and_released(PICTURES / "release.svg")
    if CHROMIUM is not None:
        of_the_tutorial(PICTURES)
    else:
        print(
            "no Chromium is installed: the pictures of the tutorial stay as they are",
            file=sys.stderr,
        )
