"""Draft: drafts a suite or rules from recorded conversations."""
