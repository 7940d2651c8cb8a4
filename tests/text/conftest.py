from hypothesis import settings

# A busy machine is no bug in the example at hand.
settings.register_profile("no-deadline", deadline=None)
settings.load_profile("no-deadline")
