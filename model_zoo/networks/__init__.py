"""Network definitions in torch, imported only when an entry builds."""
