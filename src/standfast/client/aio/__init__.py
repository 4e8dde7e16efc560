"""
The client for asyncio. The same files, names and types as in `sync`, held equal by a test.

Belongs here: written-out code for one way of waiting. Not here: what both share (`calls`, `following`, `goals`,
`snapshot`).
"""

from standfast.client.aio.client import AsyncClient
from standfast.client.aio.jobs import AsyncJobList, AsyncJobPage, AsyncJobs
from standfast.client.aio.view import AsyncJobView

__all__ = ["AsyncClient", "AsyncJobList", "AsyncJobPage", "AsyncJobView", "AsyncJobs"]
