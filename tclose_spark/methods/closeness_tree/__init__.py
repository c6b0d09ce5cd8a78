"""The closeness tree: carve a tree of valid classes, then exchange rows between near ones. See docs/design.md."""
