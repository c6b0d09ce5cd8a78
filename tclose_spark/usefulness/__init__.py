"""The usefulness of a release to an analyst, measured on raw rows, so it stays internal."""
