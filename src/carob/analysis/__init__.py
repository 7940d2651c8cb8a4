"""What is made of suites and runs, one folder per feature: its model, its logic and how it is drawn."""
