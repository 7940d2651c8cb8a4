"""Worker processes: an agent that blocks, leaks or crashes the interpreter takes down its own case and no other.

The runner's side: `executor` has two `pool`s, of which one runs suspects alone. A pool hands the cases of its `backlog`
to the workers of its `crew`. A `worker` is a `process`, the `channel` to it and the cases that it has `in_hand`; what
becomes of them it tells by events. Both sides share `messages`, `frames` and `in_flight`; the other one is `inside`.
"""
