"""x"""


def schema() -> None:
    """X."""
