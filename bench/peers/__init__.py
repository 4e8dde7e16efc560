"""
What people would use instead, one module each, with the same functions: the same work, the same durability.

Does not belong here: anything of ours.
"""
