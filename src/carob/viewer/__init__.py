"""Web pages over journals: they only read, they answer only this machine, and show only what they are asked for."""
