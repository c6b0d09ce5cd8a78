"""What Python and the command line both call: releases, plans, audits, explanations and comparisons of a table in
memory or at a path. `tclose_spark` names it all; docs/python.md shows it.
"""
