"""What proves a release. Imports nothing of methods and stages, so that a verdict is independent of
what it judges.
"""
