"""
The blocking client. The same files, names and types as in `aio`, held equal by a test.

Belongs here: written-out code for one way of waiting. Not here: what both share (`calls`, `following`, `goals`,
`snapshot`).
"""

from standfast.client.sync.client import Client
from standfast.client.sync.jobs import JobList, JobPage, Jobs
from standfast.client.sync.view import JobView

__all__ = ["Client", "JobList", "JobPage", "JobView", "Jobs"]
