"""Published labels checked from their texts alone."""
