"""Keyed pseudonyms in place of direct identifiers: HMAC-SHA256 (RFC 2104, FIPS 180-4), cut to 128
bits.

Pseudonyms are published, so anyone may test guesses of a short secret on them. A secret has
LEAST_SECRET characters or more. Like the run's secret, it is part of no expression, and only tasks
hash with it (see `table.fingerprint`).
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa

from tclose_spark.errors import ConfigurationError
from tclose_spark.runfile.columns import Pseudonym
from tclose_spark.table.columns.preparing import as_text, plain

DIGITS = 32  # hexadecimal: 128 bits
LEAST_SECRET = 16


@dataclass(frozen=True, repr=False)
class PseudonymKeys:
    """(secret, the beginning of each message) by column."""

    keys: Mapping[str, tuple[bytes, bytes]]

    @staticmethod
    def of(columns: Mapping[str, Pseudonym], secret: str) -> PseudonymKeys:
        """The keys of these columns. secret: the run's, for columns that name none. Its messages
        begin with the column's name, so that two columns do not link.

        Raises:
            ConfigurationError: if a secret is missing or too short.
        """
        keys = {}
        for column, settings in columns.items():
            named = settings.secret is not None
            key = os.environ.get(settings.secret, "") if settings.secret is not None else secret
            if len(key.strip()) < LEAST_SECRET:
                place = f"attributes.pseudonyms.{column}" + (".secret" if named else "")
                what = (
                    f"the environment variable {settings.secret}"
                    if named
                    else "the run's secret (TCLOSE_SECRET)"
                )
                why = f"has fewer than {LEAST_SECRET} characters" if key else "is not set"
                raise ConfigurationError(
                    f"{place}: {what} {why}; set it to a long random text that only you have, "
                    "since anyone can test guesses of a short one on the published pseudonyms",
                )
            keys[column] = _bytes(key), b"" if named else _bytes(f"{column}\0")
        return PseudonymKeys(keys)

    def of_values(self, column: str, values: pa.Array) -> pa.Array:
        """The pseudonyms of a column's values, as texts of DIGITS digits. A missing value (NULL,
        NaN) stays missing.
        """
        key, begin = self.keys[column]
        held = as_text(plain(values)).dictionary_encode()
        texts = held.dictionary.to_pylist()
        made = [hmac.digest(key, begin + text.encode(), "sha256").hex()[:DIGITS] for text in texts]
        return pa.array(made, pa.string()).take(held.indices)


def _bytes(text: str) -> bytes:
    return text.encode(errors="surrogateescape")
