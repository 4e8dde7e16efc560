"""
The job machine: one piece of work for one engine, from submission to a final outcome.

Belongs here: what a job is (`spec`, `attempt`, `state`), what can reach it (`inputs`, `observation`), what can happen
to it (`events`), the one table of arrows (`table`), the functions over them (`machine`, `decisions`, `ending`,
`timers`, `cleanup`) and what it says about itself (`explain`, `diagram`). Does not belong here: engines' words,
stored or public formats, anything that waits.
"""
