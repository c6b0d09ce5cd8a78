"""What is said of a release: the certificate and the page that shows it."""
