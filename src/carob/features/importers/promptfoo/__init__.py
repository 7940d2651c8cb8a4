"""promptfoo configurations: prompts, tests and variables as cases, assertions as checks."""
