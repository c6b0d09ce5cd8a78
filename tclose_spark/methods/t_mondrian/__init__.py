"""t-Mondrian: strict multidimensional recoding (Mondrian; LeFevre, DeWitt and Ramakrishnan 2006)
with t-closeness as a condition of every part. The generalization property (Li, Li and
Venkatasubramanian 2007, section 4) allows it. With (n, t)-closeness it is (n, t)-Mondrian (Li, Li
and Venkatasubramanian 2010; Weber, 2.3.2).
"""
