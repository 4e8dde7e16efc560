"""
Standfast: a durable control plane for long-running jobs.

Holds the version and nothing else; the public client lives in `standfast.client`.
"""

__version__ = "0.1.0"
