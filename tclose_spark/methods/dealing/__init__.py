"""Dealing as arithmetic on positions, shared by Stack & Deal and fragmentation."""
