"""What a release is worth to an analyst, measured on raw rows, so it stays internal."""
