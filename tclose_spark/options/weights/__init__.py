"""Published weights of a survey."""
