"""Checks of the rules of a profile, on a written release."""
