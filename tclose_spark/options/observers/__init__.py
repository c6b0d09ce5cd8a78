"""What the choices of the method reveal, counted while labels are written."""
