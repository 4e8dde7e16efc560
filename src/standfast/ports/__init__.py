"""
What the runtime asks of the world: Protocols, one file each, with 3 to 8 methods.

Belongs here: the protocols, the plain values they exchange, and what every adapter must promise. Does not belong here:
any adapter. Each port has a contract suite in `standfast.testing.contracts`, which is the exact meaning of its text.
"""
