"""Lines of releases: each continues the one before it, and people who stay keep their atom."""
