"""
The process engine: local commands that outlive the control plane, run at most once per handle, and are known dead.

Belongs here: `engine` (the port), `program` (what a spec says), `translate` and `rules` (pure), and the mechanism:
`keeper` (stands alone), `launcher`, `ticket`, `root`, `observe`, `processes`, `stop`, `void`, `output`, `driver`
(stands alone). Not here: anything about Spark.
"""

from standfast.engines.process.engine import ProcessEngine
from standfast.ports.engine import EngineContext


def build(context: EngineContext) -> ProcessEngine:
    """
    The engine, as the wiring asks for it.
    """
    context.refuse_options("process")
    return ProcessEngine(context)
