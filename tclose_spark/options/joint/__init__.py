"""Several sensitive attributes together: `privacy.joint`, and what their tuples reveal."""
