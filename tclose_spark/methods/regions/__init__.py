"""Regions that do not overlap: a table cut into boxes of its quasi-identifiers, each of them as a whole a class.

What a class publishes is the box of its own values (see `table.labels`), and no two of these meet: each record lies in
the region of one class only. Strict multidimensional recoding (LeFevre et al. 2006), with t-closeness as a condition of
every part (Li et al. 2007; Weber, 2.3.2).
"""
