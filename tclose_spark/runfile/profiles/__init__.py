"""Rules of regulators and statistics offices, as data."""
