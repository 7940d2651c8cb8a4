"""Result files of other tools that hold what agents did: recordings for `replay:`."""
