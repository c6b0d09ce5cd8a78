"""Stack & Deal (Gowda 2023, ch. 3 and 5): stacking and dealing as arithmetic on positions."""
