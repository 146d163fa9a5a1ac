"""The same pieces as PyTorch has them, with our weights copied in and its gradients copied out.

Arrays in, arrays out. The functions here carry arrays across; a module's
parameters are seen as a nest in the course's names and layout by functions such
as ``linear_nest(module, part)``, where ``part`` is `value` or `gradient`.
"""

import torch

from helpers.layers.nest import map_nest


def leaf(array):
    """A tensor with the array's values whose gradient autograd will collect."""
    return torch.tensor(array, requires_grad=True)


def value(parameter):
    """What a torch parameter holds, sharing its memory."""
    return parameter.detach()


def gradient(parameter):
    """What autograd has collected for a torch parameter or a leaf."""
    return parameter.grad


def fill(tensors, parameters):
    """Copy a nest of arrays into a nest of tensors with the same keys and shapes."""

    def copy(tensor, array):
        if tuple(tensor.shape) != array.shape:
            raise ValueError(f"fill: an array has shape {array.shape}; expected {tuple(tensor.shape)}")
        tensor.copy_(torch.from_numpy(array))

    map_nest(copy, tensors, parameters)


def to_arrays(tensors):
    """Copy a nest of tensors out into a nest of arrays."""
    return map_nest(lambda tensor: tensor.detach().contiguous().clone().numpy(), tensors)
