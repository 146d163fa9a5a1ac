"""The NumPy pieces: one module for each notebook, forward and below it backward; nest.py walks parameters."""
