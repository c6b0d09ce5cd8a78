"""What a release does besides meeting requirements. An option is a folder. `runfile/options.py`
lists them.
"""
