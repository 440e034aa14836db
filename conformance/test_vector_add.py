import kernels_triton
from conformance.ops import vector_add
from kernels_cuda.vector_add import vector_add as vector_add_cuda

four_axes = vector_add.leading("planes", "layers", "rows")

test_vector_add_triton = vector_add.conformance(kernels_triton.vector_add)
test_vector_add_triton_four_axes = four_axes.conformance(kernels_triton.vector_add)
test_vector_add_cuda = vector_add.conformance(vector_add_cuda)
test_vector_add_agreement = vector_add.agreement(kernels_triton.vector_add, vector_add_cuda)
test_vector_add_cuda_four_axes = four_axes.conformance(vector_add_cuda)
