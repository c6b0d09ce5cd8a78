"""SABRE (Cao, Karras, Kalnis and Tan 2011; Weber, 2.3.4)."""
