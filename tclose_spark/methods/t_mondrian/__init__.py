"""t-Mondrian: strict multidimensional recoding (Mondrian; LeFevre, DeWitt and Ramakrishnan 2006) with t-closeness as a
condition of every part, as proposed by Li, Li and Venkatasubramanian (2007, section 5); Weber, 2.3.2.
"""
