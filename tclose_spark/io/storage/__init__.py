"""Folders of a run, on a local disk or behind a URI; locks and hashes of files."""
