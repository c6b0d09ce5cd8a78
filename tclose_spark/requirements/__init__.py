"""What classes must meet. A requirement is a file: how it is judged, and its words. `registry.py`
lists them.
"""
