"""What a staged run depends on beside its configuration: the secrets, and where and how its output
is written.
"""

from __future__ import annotations

import hashlib
import hmac
import json

from tclose_spark.io.run import Run
from tclose_spark.table.columns.pseudonyms import PseudonymKeys


def sealed_secret(secret: str) -> str:
    """A keyed hash that is equal for equal secrets of runs, whose hashes of people can be
    compared.
    """
    return hmac.new(secret.encode(), b"people", hashlib.sha256).hexdigest()


def sealed_pseudonyms(run: Run) -> dict[str, str]:
    """By column with a pseudonym, a keyed hash that is equal for equal secrets, and reveals none.

    Raises:
        ConfigurationError: if a secret is missing or too short.
    """
    keys = PseudonymKeys.of(run.spec.attributes.pseudonyms, run.secret).keys
    return {
        column: hmac.digest(key, b"sealed", "sha256").hex() for column, (key, _) in keys.items()
    }


def sealed_settings(run: Run) -> str:
    """A keyed hash of the secrets and of the run file's `output`. It is equal for equal ones, and
    reveals none.

    Raises:
        ConfigurationError: if the secret of a pseudonym is missing or too short.
    """
    text = json.dumps(
        [sealed_pseudonyms(run), run.spec.output.model_dump(mode="json")], sort_keys=True
    )
    return hmac.new(run.secret.encode(), text.encode(), hashlib.sha256).hexdigest()
