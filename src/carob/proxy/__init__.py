"""What surrounds the agent under test: the services that it calls, and the tape that answers for them."""
