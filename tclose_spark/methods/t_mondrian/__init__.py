"""t-Mondrian: strict multidimensional recoding (Mondrian; LeFevre, DeWitt and Ramakrishnan 2006) with t-closeness as a
condition of every part, as Li, Li and Venkatasubramanian (2007, section 5) propose it; Weber, 2.3.2.
"""
