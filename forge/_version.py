"""The version of this distribution, said once."""

__version__ = "0.1.0"
