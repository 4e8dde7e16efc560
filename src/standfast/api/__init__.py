"""
The HTTP interface: one table of routes, thin handlers, errors as problem documents, streams.

Belongs here: HTTP and nothing else. Does not belong here: a decision about a job (core), who commits it (runtime), the
shapes of documents (`wire.public`), an adapter.
"""
