"""CUDA kernels of the operations: one `.cu` source and one launcher module of the same name each."""
