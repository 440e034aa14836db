import kernels_triton
from conformance.ops import softmax
from kernels_cuda.softmax import softmax as softmax_cuda

test_softmax_triton = softmax.conformance(kernels_triton.softmax, order="tree")
test_softmax_triton_online = softmax.conformance(kernels_triton.softmax, meta={"longest": 32}, order="tree")
test_softmax_cuda = softmax.conformance(softmax_cuda, order="tree")
test_softmax_agreement = softmax.agreement(kernels_triton.softmax, softmax_cuda, order="tree")
