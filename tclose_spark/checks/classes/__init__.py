"""The class table: every equivalence class with all that is required of it, in exact figures."""
