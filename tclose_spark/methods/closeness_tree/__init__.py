"""The closeness tree: grow a tree of valid classes, then exchange rows between near ones.

See docs/methods/closeness_tree.md.
"""
