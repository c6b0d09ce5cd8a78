"""Reading the input, whatever its format, and what its errors mean."""
