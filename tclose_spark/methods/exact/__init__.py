"""The release that loses least, with a proof, for small tables (Liang and Yuan, section 4)."""
