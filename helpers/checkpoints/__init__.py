"""Models as other libraries store them: reading them into our nests, and writing ours for them."""
