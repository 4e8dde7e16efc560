"""
Sorted keys: what an index is to a table.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterator
from typing import Any, Generic, TypeVar

K = TypeVar("K", bound=Any)


class Keys(Generic[K]):
    """
    Distinct keys in ascending order.
    """

    def __init__(self) -> None:
        self._keys: list[K] = []

    def add(self, key: K) -> None:
        """
        Put the key in its place; it must not be there yet.
        """
        insort(self._keys, key)

    def discard(self, key: K) -> None:
        """
        Take the key out; one that is not there is fine.
        """
        at = bisect_left(self._keys, key)
        if at < len(self._keys) and self._keys[at] == key:
            del self._keys[at]

    def below(self, key: K) -> int:
        """
        How many keys are smaller.
        """
        return bisect_left(self._keys, key)

    def __iter__(self) -> Iterator[K]:
        return iter(self._keys)
