"""
The fake engine: runs that take no machine, end as their program says, and fail in every way that real engines do.

Belongs here: the model of an engine (`engine`, `runs`) and what a program may ask of it (`script`). It is a product:
demos and the first tutorial run on it, and the contract and simulation suites are written against it first. Not here:
anything that knows the control plane.
"""

from __future__ import annotations

from standfast.engines.fake.engine import ALL, FakeEngine
from standfast.engines.fake.script import Accept, Script
from standfast.ports.engine import Capability, EngineContext

__all__ = ["ALL", "Accept", "FakeEngine", "Script", "build"]


def build(context: EngineContext) -> FakeEngine:
    """
    A fake engine that lives as long as this process, in a life of its own.

    Options: `capabilities` (list of names, all by default), `quiet_s` (seconds).
    """
    options = context.options
    named = options.get("capabilities")
    return FakeEngine(
        context.clock,
        capabilities=ALL if named is None else frozenset(Capability(name) for name in named),
        quiet_s=float(options.get("quiet_s", 0.0)),
        life=context.ids.request_id()[:12],
    )
