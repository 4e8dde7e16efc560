"""
Two faces of the same facts: `stored` (what stores keep, versioned) and `public` (REST v1).

Does not belong here: HTTP, SQL, or any decision.
"""
