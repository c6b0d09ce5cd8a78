"""What an adversary can learn from a published table: beliefs, joins with a background table, the
minimality attack.
"""
