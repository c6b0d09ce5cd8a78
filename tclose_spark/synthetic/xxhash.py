"""The 64-bit xxHash (Collet 2012) of short keys, in numpy. It decides who the people of the census
are.
"""

from __future__ import annotations

import numpy as np

from tclose_spark.table.arrays import HashArray

P1, P2, P3, P4, P5 = map(
    np.uint64,
    (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    ),
)


def hash_numbers(numbers: HashArray, seed: HashArray) -> HashArray:
    """The hash of each 64-bit number, shape (n,). Different numbers have different hashes. seed:
    shape (1,).
    """
    return _mixed(_with_word(seed + P5 + np.uint64(8), numbers))


def hash_text(text: str, seed: HashArray) -> HashArray:
    """The hash of a text of less than 32 bytes, shape (1,). seed: shape (1,)."""
    content = text.encode()
    words, rest = np.frombuffer(content, "<u8", len(content) // 8), content[len(content) // 8 * 8 :]
    state = seed + P5 + np.uint64(len(content))
    for word in words[:, np.newaxis]:
        state = _with_word(state, word)
    if len(rest) >= 4:
        half = np.frombuffer(rest, "<u4", 1).astype(np.uint64)
        state, rest = _rotated(state ^ half * P1, 23) * P2 + P3, rest[4:]
    for byte in np.frombuffer(rest, np.uint8).astype(np.uint64)[:, np.newaxis]:
        state = _rotated(state ^ byte * P5, 11) * P1
    return _mixed(state)


def _with_word(state: HashArray, word: HashArray) -> HashArray:
    return _rotated(state ^ _rotated(word * P2, 31) * P1, 27) * P1 + P4


def _rotated(state: HashArray, bits: int) -> HashArray:
    return (state << np.uint64(bits)) | (state >> np.uint64(64 - bits))


def _mixed(state: HashArray) -> HashArray:
    state = (state ^ (state >> np.uint64(33))) * P2
    state = (state ^ (state >> np.uint64(29))) * P3
    return state ^ (state >> np.uint64(32))
