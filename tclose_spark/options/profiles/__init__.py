"""Rules of regulators that a release is checked for."""
