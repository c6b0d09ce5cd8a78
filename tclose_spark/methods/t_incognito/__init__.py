"""t-Incognito: full-domain recoding over the lattice of hierarchy levels (Li, Li and
Venkatasubramanian 2007).
"""
