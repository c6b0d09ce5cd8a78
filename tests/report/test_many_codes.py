"""Hundreds of codes of a hierarchy in the farthest class of a release, and in an explained
class.
"""

from pathlib import Path

import pyarrow as pa

import tclose_spark as tc

ROWS, CODES = 400, 100
CHAPTERS = {f"chapter {i}" for i in range(5)}


def test_the_report_and_the_explanation_show_them_by_a_level_of_the_hierarchy(
    tmp_path: Path,
) -> None:
    tree = tmp_path / "codes.csv"
    tree.write_text("\n".join(f"c{i:03};block {i // 2};chapter {i // 20};*" for i in range(CODES)))
    people = pa.table(
        {
            "age": [20 + i // 10 for i in range(ROWS)],
            "code": [f"c{(7 * i) % CODES:03}" for i in range(ROWS)],
        },
    )
    spec = {
        "name": "codes",
        "attributes": {
            "quasi_identifiers": {"age": {"type": "numeric"}},
            "sensitive_attributes": {
                "code": {"distance": "hierarchical", "hierarchy": str(tree), "t": 0.5},
            },
        },
        "privacy": {"k": 5},
    }
    made = tc.release(people, spec, output=tmp_path / "out", engine="local", log=None)
    page = made.report.html
    assert all(f">{chapter}</text>" in page for chapter in CHAPTERS)
    assert "The 100 values are shown in 5 groups." in page
    assert "all others" not in page
    internal = (Path(made.internal_path) / "report.html").read_text()
    heads = internal[internal.index("The pair with the strongest association") :].partition(
        "</thead>",
    )[0]
    assert all(f">{chapter}</th>" in heads for chapter in CHAPTERS), "cross tables, too"
    released = made.to_arrow()
    told = tc.explain(released, spec=spec, engine="local")
    explained = told._repr_html_().replace("&lt;", "<").replace("&gt;", ">")
    assert all(f">{chapter}</text>" in explained for chapter in CHAPTERS)
