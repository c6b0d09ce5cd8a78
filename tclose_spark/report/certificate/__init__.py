"""The certificate of a release: its sections, how it is built, and its JSON Schema."""
