"""Leave a folder that replays one failing cell anywhere, and replay it."""
