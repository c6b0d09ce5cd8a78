"""The closeness tree: carve a tree of valid classes, then exchange rows between near ones. See docs/design.md."""

from tclose_spark.methods.closeness_tree.caching import keep_compiled_kernels

keep_compiled_kernels()
