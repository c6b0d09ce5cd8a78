"""The figures of an audit of `generalized`. If a requirement does not hold, the build fails, and no
model that depends on this one is built.
"""

from typing import Any


def model(dbt: Any, session: Any) -> Any:
    """A row for each measure."""
    import pandas as pd

    import tclose_spark as tc

    table = dbt.ref("generalized").df()
    audit = tc.audit(
        table,
        ["age", "sex"],
        {"disease": "equal"},
        k=10,
        t="0.4",
        attacks=False,
    ).without_labels()
    if not audit.holds:
        raise ValueError(f"generalized may not be published: {audit}")
    measures = pd.DataFrame(audit.to_json()["guarantees"])
    return measures[["measure", "attribute", "asked", "achieved", "holds"]]
