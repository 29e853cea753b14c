"""Guards that look at a stranger's model file before a framework does.

Each file guards against one kind of harm. What the guards refuse is ``forge.InvalidInput``, which
says what was found, where, and what to try; nothing in a file is run to find out.
"""
