"""The population that the input is a sample of, and the risk of re-identification."""
