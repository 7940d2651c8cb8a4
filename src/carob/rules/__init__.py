"""Rules: what holds in every conversation, judged event by event. It knows nothing of where events come from."""
