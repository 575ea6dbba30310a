"""Maps inside other libraries: scikit-learn, torch and ONNX, each loaded when imported."""
