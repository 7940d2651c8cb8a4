"""Running a suite: plan, executors, deadlines, journal. It yields typed events and knows no report."""
