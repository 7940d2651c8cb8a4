"""What GitHub shows of a run: annotations in its suite, and a summary of the job."""
