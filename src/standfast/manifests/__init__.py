"""
Front-ends: one module per kind of manifest that people already have, lowered to the core spec.

Does not belong here: talking to anything.
"""
