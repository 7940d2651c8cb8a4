"""Several runs of one suite side by side: a case is a row, a run is a column."""
