"""The record of what the choices of the method reveal."""
