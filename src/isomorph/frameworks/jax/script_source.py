"""JAX in a script that needs no isomorph."""

from __future__ import annotations

from isomorph.core.extraction import ScriptSource


def script_source(passes: str, device: str) -> ScriptSource:
    """The exported function on this device, compiled without these passes of XLA."""
    options = f", compiler_options={{'xla_disable_hlo_passes': {passes!r}}}" if passes else ""
    return ScriptSource(
        imports=("import jax", "from jax import export"),
        packages=("jax",),
        body=(
            "jax.config.update('jax_enable_x64', True)",
            *place_lines(device),
            "exported = export.deserialize(bytearray(path.read_bytes()))",
            f"function = jax.jit(exported.call{options})",
            "return np.asarray(jax.tree.leaves(function(*feeds.values()))[0])",
        ),
        variables={},
    )


def place_lines(device: str) -> tuple[str, ...]:
    """The line that makes JAX compute on this device."""
    kind, _, number = device.partition(":")
    return (f"jax.config.update('jax_default_device', jax.devices({kind!r})[{int(number or 0)}])",)
