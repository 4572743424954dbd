"""Opening ONNX Runtime sessions: of the user's file, or of a model that we cut from it."""

from __future__ import annotations

import os
import warnings
import weakref
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import onnx

from isomorph.core.errors import IsomorphError
from isomorph.core.memory import copying_weights, count_mapped, memory_limit
from isomorph.frameworks.onnx.cut import rename_duplicates
from isomorph.frameworks.onnx.external_data import is_external
from isomorph.frameworks.onnx.file_notes import duplicate_names
from isomorph.frameworks.onnx.model import stored_tensors
from isomorph.frameworks.onnx.ort_errors import opening_failed
from isomorph.frameworks.onnx.ort_settings import session_options
from isomorph.frameworks.onnx.stored_tensors import stored_bytes

if TYPE_CHECKING:
    from isomorph.frameworks.onnx.model import OnnxModel
    from isomorph.frameworks.onnx.ort_settings import Settings

_FOLDER = "session.model_external_initializers_file_folder_path"
_NO_PACKING = "session.disable_prepacking"
_COUNTED = 2
"""How often external weights count: mapped, and as a block that is reserved and never touched."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Opening:
    """A session, and in words what it was opened from.

    ``packs``: it may arrange weights for its kernels ahead of the first run, in memory of its own.
    """

    session: Any
    origin: str
    packs: bool = True


def open_deployed(ort: Any, settings: Settings, model: OnnxModel, *, file: str) -> Opening:  # noqa: ANN401
    """The model as a user would deploy it: from its own file wherever there is one."""
    if duplicate_names(model.outline.graph):
        copy = onnx.ModelProto()
        copy.CopyFrom(model.proto)
        count = rename_duplicates(copy.graph)
        origin = f"a copy with {count} nodes renamed, because ONNX Runtime refuses duplicate names"
        return open_proto(ort, settings, model, copy, file=file, origin=origin)
    if model.path is None or not _is_unicode(model.path):
        return open_proto(ort, settings, model, model.proto, file=file, origin="memory")
    options = session_options(ort, settings)
    source, origin = os.fspath(model.path), "the file as it is"
    return _opening(ort, settings, source, options, model.outline, file=file, origin=origin)


def open_proto(
    ort: Any,  # noqa: ANN401
    settings: Settings,
    model: OnnxModel,
    proto: Any,  # noqa: ANN401
    *,
    file: str,
    origin: str = "a cut",
) -> Opening:
    """A model from memory; it finds the external weights of ``model`` where they lie.

    They are neither serialized nor copied, so a cut of a model over 2 GB is itself small.
    """
    options = session_options(ort, settings)
    if model.folder is not None and any(is_external(tensor) for _, tensor in stored_tensors(proto)):
        if _is_unicode(model.folder):
            options.add_session_config_entry(_FOLDER, os.fspath(model.folder))
        else:
            # ONNX Runtime takes only Unicode paths from Python.
            proto = with_values_inside(proto, model)
    source = proto.SerializeToString()
    return _opening(ort, settings, source, options, proto, file=file, origin=origin)


def with_values_inside(proto: Any, model: OnnxModel) -> Any:  # noqa: ANN401
    """A copy with its external weights in it, for whoever cannot find them."""
    copy = onnx.ModelProto()
    copy.CopyFrom(proto)
    for _, tensor in stored_tensors(copy):
        if is_external(tensor):
            tensor.CopyFrom(onnx.numpy_helper.from_array(model.array(tensor), tensor.name))
    return copy


def _opening(
    ort: Any,  # noqa: ANN401
    settings: Settings,
    source: str | bytes,
    options: Any,  # noqa: ANN401
    proto: Any,  # noqa: ANN401
    *,
    file: str,
    origin: str,
) -> Opening:
    """A session whose external weights stay in their files, as far as memory is short."""
    mapped = sum(stored_bytes(each) for _, each in stored_tensors(proto) if is_external(each))
    limit = memory_limit()
    # Packed weights are copies. The other half of the memory is for tensors and for cuts.
    packs = limit is None or mapped <= limit // 2
    if not packs:
        options.add_session_config_entry(_NO_PACKING, "1")
    counted = _COUNTED * mapped
    count_mapped(counted)
    try:
        session = _session(ort, settings, source, options, proto, file=file)
    except BaseException:
        count_mapped(-counted)
        raise
    weakref.finalize(session, count_mapped, -counted)
    return Opening(session=session, origin=origin, packs=packs)


def _session(
    ort: Any,  # noqa: ANN401
    settings: Settings,
    source: str | bytes,
    options: Any,  # noqa: ANN401
    proto: Any,  # noqa: ANN401
    *,
    file: str,
) -> Any:  # noqa: ANN401
    extra = {"disabled_optimizers": list(settings.disabled)} if settings.disabled else {}
    try:
        with warnings.catch_warnings(), copying_weights():
            # A provider that is missing is only a warning there; we report it as a fact.
            warnings.simplefilter("ignore")
            return ort.InferenceSession(
                source, options, providers=list(settings.providers), **extra
            )
    except IsomorphError:
        raise  # the process of another environment has died, or its package is missing
    except Exception as error:
        raise opening_failed(error, proto, file=file) from error


def _is_unicode(path: os.PathLike[str]) -> bool:
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
