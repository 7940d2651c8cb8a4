"""Worker processes: an agent that blocks, leaks or crashes the interpreter takes down its own case and no other.

The runner's side: `executor` has two `pool`s, of which one runs suspects alone. A pool hands the cases of its backlog
to its set of workers. A `worker` is a `process` with its channel, and the cases that are assigned to it; it reports by
events what becomes of them. Both sides share `messages` and `in_flight`; the other one is `inside`.
"""
