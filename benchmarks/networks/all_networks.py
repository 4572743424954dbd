"""Every network by its name. A framework is imported only for a network that needs it."""

from __future__ import annotations

from networks.files import Files

TORCH = ("resnet50", "lstm", "transformer")
KERAS = ("keras_cnn", "keras_lstm", "int8_cnn")
NAMES = (*TORCH, *KERAS)


def written(name: str) -> Files:
    """The files of a network, made if they are not there."""
    if name in TORCH:
        from networks import torch_networks

        made = {network.name: network for network in torch_networks.NETWORKS}
        return torch_networks.written(made[name])
    from networks import keras_networks

    named = {network.name: network for network in keras_networks.NETWORKS}
    return keras_networks.written(named[name])
