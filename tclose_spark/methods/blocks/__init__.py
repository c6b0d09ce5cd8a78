"""What methods share that form classes in blocks: which rows make a block, and a block as plain
arrays.
"""
