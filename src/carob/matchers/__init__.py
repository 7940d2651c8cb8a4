"""What a value of arguments, results, state or a JSON answer must be: plain values, and matchers: `{$lte: 50}`."""
