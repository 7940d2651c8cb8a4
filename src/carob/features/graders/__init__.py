"""Can this grader fail? Wrong traces given to a judge that somebody else wrote."""
