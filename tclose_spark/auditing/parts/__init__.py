"""The parts of an audit, a module each."""
