"""Maps inside other libraries: scikit-learn, torch and ONNX, one a file, each loaded only when it is asked for."""
