"""
The small ports on this machine: its clock, its randomness, hints between the tasks of one process.

Does not belong here: anything with a life of its own, such as stores and engines.
"""
