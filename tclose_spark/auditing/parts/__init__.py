"""The parts of an audit, a module each, with one face (`part.py`)."""
