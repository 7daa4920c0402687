"""Models of integers of 8 bits, as ONNX Runtime's quantiser writes them in the way that it recommends. Of convolutions: the
ranges of activations are measured ahead, and QuantizeLinear and DequantizeLinear stand around operators, which every side
may compute in integers. With attention, where such ranges are too wide for 8 bits (MiniLM's embeddings keep a cosine of 0.92):
DynamicQuantizeLinear and MatMulInteger for products by weights. Activations are u8, weights i8 with a scale for each channel."""

from pathlib import Path


def has_attention(model):
    """Whether it multiplies activations with each other."""
    constants = {tensor.name for tensor in model.graph.initializer}
    return any(node.op_type == "MatMul" and not constants & set(node.input) for node in model.graph.node)


def sums_saturate():
    """Processors without VNNI add two products in 16 bits: weights of 7 bits are what ONNX Runtime asks for there."""
    flags = Path("/proc/cpuinfo").read_text()
    return "avx2" in flags and "avx512_vnni" not in flags and "avx_vnni" not in flags


def quantize(path, samples):
    """The model at `path`, in its place. `samples`: inputs by name, from which ranges of activations are measured."""
    import onnx
    from onnxruntime import quantization

    class Samples(quantization.CalibrationDataReader):
        left = iter(samples)

        def get_next(self):
            return next(self.left, None)

    prepared, quantized = path.with_suffix(".prepared.onnx"), path.with_suffix(".quantized.onnx")
    # Its inference of symbolic shapes has nothing to find: all are fixed.
    quantization.quant_pre_process(str(path), str(prepared), skip_symbolic_shape=True)
    told = {"per_channel": True, "weight_type": quantization.QuantType.QInt8, "reduce_range": sums_saturate()}
    if has_attention(onnx.load(prepared)):
        quantization.quantize_dynamic(str(prepared), str(quantized), ["MatMul", "Gemm"], **told)
    else:
        quantization.quantize_static(str(prepared), str(quantized), Samples(), quantization.QuantFormat.QDQ,
                                     activation_type=quantization.QuantType.QUInt8, **told)
    prepared.unlink()
    quantized.rename(path)


def evaluate(path, inputs):
    """What it means: each operator as it stands, those of floats in f32."""
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    return session.run(None, {given.name: inputs[given.name] for given in session.get_inputs()})
