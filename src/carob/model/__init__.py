"""Frozen records that the layers hand to each other. No I/O, no behaviour beyond reading themselves."""
