"""
The Spark engine: spark-submit in client mode, under the process engine's keepers.

Belongs here: `engine` (the port), `program` (what a spec says), `client` (how spark-submit is found and called),
`translate` and `rules` (pure). Not here: how a process is started, found again and known dead (`engines.process`).
"""

from standfast.engines.spark.engine import SparkEngine
from standfast.ports.engine import EngineContext


def build(context: EngineContext) -> SparkEngine:
    """
    The engine, as the wiring asks for it.
    """
    context.refuse_options("spark")
    return SparkEngine(context)
