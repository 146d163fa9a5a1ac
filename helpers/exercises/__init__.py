"""Questions and their checkers, one module per notebook; core.py holds what they share and says how to write one."""
