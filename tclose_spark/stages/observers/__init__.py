"""What is measured or noted of rows while a release is written."""
