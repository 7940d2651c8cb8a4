"""What was recorded and is played or read again: traces, spans, tapes, and result files of other tools."""
