"""
Contracts: one suite per port that an adapter may be written for, free of pytest.

A suite is `CASES`, coroutines over a subject that a factory of yours makes fresh for each; it never names an adapter.
"""
