"""
Every arrow of a job's life, and nothing else; what is not here cannot happen.

The diagram in the docs is drawn from it, `evolve` looks each arrow up, and the moves a user is offered follow from it.

Theory of operation. A job waits (`queued`), crosses the write boundary (`launching`: only a look tells whether the
attempt exists), is seen alive (`running`), and ends. Whatever must end an attempt early goes through `stopping`, which
is left only when the engine confirms that nothing of it is alive. When no answer settles what is the case, the job is
`uncertain`, keeps being looked at, and leaves by evidence or by a person's recorded word. `backing_off` is entered only
from an attempt whose death is confirmed. The three final phases absorb: their only arrow is housekeeping onto itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from standfast.core.job import events as e
from standfast.core.job.state import Phase

QUEUED, LAUNCHING, RUNNING, STOPPING = Phase.QUEUED, Phase.LAUNCHING, Phase.RUNNING, Phase.STOPPING
BACKING_OFF, SUSPENDED, UNCERTAIN = Phase.BACKING_OFF, Phase.SUSPENDED, Phase.UNCERTAIN
SUCCEEDED, FAILED, CANCELLED = Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED

TRANSITIONS: Mapping[tuple[Phase | None, type[e.Event]], Phase] = {
    (None, e.Submitted): QUEUED,
    # waiting
    (QUEUED, e.LaunchBegun): LAUNCHING,
    (QUEUED, e.Suspended): SUSPENDED,
    (QUEUED, e.Cancelled): CANCELLED,
    (SUSPENDED, e.Resumed): QUEUED,
    (SUSPENDED, e.Cancelled): CANCELLED,
    (BACKING_OFF, e.BackoffElapsed): QUEUED,
    (BACKING_OFF, e.Suspended): SUSPENDED,
    (BACKING_OFF, e.Cancelled): CANCELLED,
    # past the write boundary
    (LAUNCHING, e.LaunchRepeated): LAUNCHING,
    (LAUNCHING, e.StatusChanged): LAUNCHING,
    (LAUNCHING, e.Started): RUNNING,
    (LAUNCHING, e.StopRequested): STOPPING,
    (LAUNCHING, e.BecameUncertain): UNCERTAIN,
    (LAUNCHING, e.RetryScheduled): BACKING_OFF,
    (LAUNCHING, e.Succeeded): SUCCEEDED,
    (LAUNCHING, e.Failed): FAILED,
    # seen alive
    (RUNNING, e.StatusChanged): RUNNING,
    (RUNNING, e.ContactLost): RUNNING,
    (RUNNING, e.ContactRegained): RUNNING,
    (RUNNING, e.StopRequested): STOPPING,
    (RUNNING, e.BecameUncertain): UNCERTAIN,
    (RUNNING, e.RetryScheduled): BACKING_OFF,
    (RUNNING, e.Succeeded): SUCCEEDED,
    (RUNNING, e.Failed): FAILED,
    # being stopped: left by confirmed death only
    (STOPPING, e.StopRequested): STOPPING,
    (STOPPING, e.BecameUncertain): UNCERTAIN,
    (STOPPING, e.RetryScheduled): BACKING_OFF,
    (STOPPING, e.Suspended): SUSPENDED,
    (STOPPING, e.Succeeded): SUCCEEDED,
    (STOPPING, e.Failed): FAILED,
    (STOPPING, e.Cancelled): CANCELLED,
    # not known
    (UNCERTAIN, e.Resolved): UNCERTAIN,
    (UNCERTAIN, e.BecameUncertain): UNCERTAIN,
    (UNCERTAIN, e.LaunchRepeated): LAUNCHING,
    (UNCERTAIN, e.Started): RUNNING,
    (UNCERTAIN, e.StopRequested): STOPPING,
    (UNCERTAIN, e.RetryScheduled): BACKING_OFF,
    (UNCERTAIN, e.Suspended): SUSPENDED,
    (UNCERTAIN, e.Succeeded): SUCCEEDED,
    (UNCERTAIN, e.Failed): FAILED,
    (UNCERTAIN, e.Cancelled): CANCELLED,
    # final: housekeeping only
    (SUCCEEDED, e.RemainderRemoved): SUCCEEDED,
    (FAILED, e.RemainderRemoved): FAILED,
    (CANCELLED, e.RemainderRemoved): CANCELLED,
}
