"""Walking nests of arrays; the checks import nothing of what they check, so they have a walk of their own."""


def map_arrays(f, nest):
    """The same nest of dicts and lists with f(array) in place of each array."""
    if isinstance(nest, dict):
        return {key: map_arrays(f, value) for key, value in nest.items()}
    if isinstance(nest, (list, tuple)):
        return [map_arrays(f, value) for value in nest]
    return f(nest)
