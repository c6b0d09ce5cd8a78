"""Every verb once, for Python and the command line: see docs/python.md. `public.py` lists the
public names.
"""
