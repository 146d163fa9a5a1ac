"""What the notebooks share: layers, their PyTorch references, checks, explorers, exercises and figures."""
