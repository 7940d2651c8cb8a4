"""`carob judge`: one judge, kept alive, for test runners of other languages. docs/judge.md describes its protocol."""
