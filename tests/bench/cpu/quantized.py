"""Models of integers of 8 bits, as ONNX Runtime's quantiser writes them: QuantizeLinear and DequantizeLinear around operators,
which every side reads and may compute in integers. Activations are u8, weights i8 with a scale for each channel."""

from pathlib import Path

PRODUCTS = ["Conv", "Gemm", "MatMul"]


def has_attention(model):
    """Whether it multiplies activations with each other. Of such models norms and residuals stay floats, as users keep them."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return any(node.op_type == "MatMul" and not constants & set(node.input) for node in model.graph.node)


def sums_saturate():
    """Processors without VNNI add two products in 16 bits: weights of 7 bits are what ONNX Runtime asks for there."""
    flags = Path("/proc/cpuinfo").read_text()
    return "avx2" in flags and "avx512_vnni" not in flags and "avx_vnni" not in flags


def quantize(path, samples):
    """The model at `path`, in its place. `samples`: inputs by name, from which ranges of activations are taken."""
    import onnx
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        left = iter(samples)

        def get_next(self):
            return next(self.left, None)

    prepared, quantized = path.with_suffix(".prepared.onnx"), path.with_suffix(".quantized.onnx")
    # Its inference of symbolic shapes has nothing to find: all are fixed.
    quantization.quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    quantization.quantize_static(
        str(prepared), str(quantized), Samples(), quant_format=quantization.QuantFormat.QDQ, per_channel=True,
        activation_type=quantization.QuantType.QUInt8, weight_type=quantization.QuantType.QInt8, reduce_range=sums_saturate(),
        op_types_to_quantize=PRODUCTS if has_attention(onnx.load(prepared)) else None)
    prepared.unlink()
    quantized.rename(path)


def evaluate(path, inputs):
    """What it means: each operator as it stands, those of floats in f32."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {given.name: inputs[given.name] for given in session.get_inputs()})
