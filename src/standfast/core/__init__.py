"""
What Standfast decides, and nothing about how it is carried out.

Belongs here: nouns (frozen msgspec structs), tables, and pure functions over them. The same arguments always give
the same answer. Does not belong here: a clock, randomness, I/O, logging, async, an engine's or a store's vocabulary.
msgspec and RE2 (in `failure.patterns`) are the only third-party imports.
Sub-packages, outermost first: `job` > `retry` > `failure` > `errors`.
"""
