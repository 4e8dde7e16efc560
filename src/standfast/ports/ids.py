"""
The ids port: the only source of fresh identities.
"""

from __future__ import annotations

from typing import Protocol


class Ids(Protocol):
    """
    New names that were never given before, here or elsewhere.
    """

    def job_uid(self) -> str:
        """
        `job_` and 26 of Crockford's base 32 in lower case; later ones sort after earlier ones of this process.
        """
        ...

    def request_id(self) -> str:
        """
        A request id for a caller that brought none.
        """
        ...

    def secret(self) -> str:
        """
        At least 256 bits from the system's generator, printable.
        """
        ...
