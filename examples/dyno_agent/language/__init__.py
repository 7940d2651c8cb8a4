"""Reading a request by rules: a small grammar of dates, identifiers and intents, without a language model."""
