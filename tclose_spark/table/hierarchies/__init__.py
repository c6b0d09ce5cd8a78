"""Value generalization hierarchies: read, built, and restricted to released values."""
