"""JAX in a script that needs no isomorph."""

from __future__ import annotations

from isomorph.core.extraction import ScriptSource


def script_source(passes: str, precision: str) -> ScriptSource:
    """The exported function, compiled without these passes of XLA."""
    options = f", compiler_options={{'xla_disable_hlo_passes': {passes!r}}}" if passes else ""
    exact = [] if precision == "default" else [precision]
    return ScriptSource(
        imports=("import jax", "from jax import export"),
        packages=("jax",),
        body=(
            "jax.config.update('jax_enable_x64', True)",
            *(f"jax.config.update('jax_default_matmul_precision', {each!r})" for each in exact),
            "exported = export.deserialize(bytearray(path.read_bytes()))",
            f"function = jax.jit(exported.call{options})",
            "return np.asarray(jax.tree.leaves(function(*feeds.values()))[0])",
        ),
        variables={},
    )
