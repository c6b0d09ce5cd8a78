"""Certificates, HTML reports, plots and console output of a release."""
