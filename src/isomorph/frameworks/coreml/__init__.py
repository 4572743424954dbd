"""Core ML models with an ML program: .mlpackage folders and .mlmodel files."""
