"""Everything that is shown: the reporters, and the text of the other verbs."""
