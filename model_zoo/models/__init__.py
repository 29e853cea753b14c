"""The entries, one module a framework and origin; none imports a framework before it builds."""
