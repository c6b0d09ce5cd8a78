"""Dealing as arithmetic on positions: what Stack & Deal and fragmentation share."""
