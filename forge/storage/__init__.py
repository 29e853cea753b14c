"""Save a loaded module to one file and read it back."""
