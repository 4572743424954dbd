"""ExecuTorch programs for tests: modules of PyTorch, lowered as users lower them."""

from __future__ import annotations

import warnings


def exported(module, inputs, dynamic_shapes=None):
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return torch.export.export(module.eval(), tuple(inputs), dynamic_shapes=dynamic_shapes)


def lowered(program, *, xnnpack=False, dynamic=False, weights_elsewhere=False):
    """The bytes of a program for the portable kernels, or for XNNPACK where it takes nodes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
            XnnpackDynamicallyQuantizedPartitioner,
            XnnpackPartitioner,
        )
        from executorch.exir import (
            ExecutorchBackendConfig,
            to_edge,
            to_edge_transform_and_lower,
        )

        if not xnnpack:
            config = ExecutorchBackendConfig(external_constants=weights_elsewhere)
            return bytes(to_edge(program).to_executorch(config).buffer)
        partitioners = [XnnpackPartitioner()]
        if dynamic:
            partitioners = [XnnpackDynamicallyQuantizedPartitioner(), *partitioners]
        edge = to_edge_transform_and_lower(program, partitioner=partitioners)
        return bytes(edge.to_executorch().buffer)


def quantized(module, samples, *, per_channel=True, dynamic=False):
    """The module with quantizers of 8 bits around what XNNPACK takes, calibrated on the samples."""
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
            XNNPACKQuantizer,
            get_symmetric_quantization_config,
        )
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        quantizer = XNNPACKQuantizer().set_global(
            get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic)
        )
        captured = torch.export.export(module.eval(), tuple(samples[0])).module()
        prepared = prepare_pt2e(captured, quantizer)
        for sample in samples:
            prepared(*sample)
        return torch.export.export(convert_pt2e(prepared), tuple(samples[0]))
