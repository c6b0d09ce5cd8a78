"""The exchange: rows of near classes move and swap places, so that labels get narrower while every
class stays valid.
"""
