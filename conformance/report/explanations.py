"""What each oracle watches, in words for an author whose kernel it objected to: law, example of a fault, repair."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The law of an oracle in one sentence, code that breaks it, and how to repair such code."""

    law: str
    fault: str
    repair: str


ORACLES: dict[str, Explanation] = {
    "bounds": Explanation(
        "Every address that is read or written is an element of an argument; gaps between the rows of a strided view "
        "are outside.",
        "x = tl.load(x_ptr + row * stride + cols)                 # 8 lanes, 5 columns: 3 lanes read beyond the row",
        "Give the load or store a mask on every axis it runs over: `mask=cols < n_cols`, and `other=` the neutral "
        "value of what follows. A read whose value is thrown away is still a read: it faults where the page ends.",
    ),
    "written": Explanation(
        "Each element of the output is written, and nothing depends on memory that nobody wrote.",
        "grid = (n // BLOCK,)                                      # the last n % BLOCK elements keep what was there",
        "Round the grid up, `triton.cdiv(n, BLOCK)`; handle empty axes; start accumulators that are added to with "
        "`torch.zeros`, not `torch.empty`.",
    ),
    "inputs_kept": Explanation(
        "Inputs that the op does not declare as mutated, and all memory round the tensors, are bytewise as before.",
        "tl.store(x_ptr + offsets, tl.exp(x), mask=mask)           # the caller's x is scratch space here",
        "Store to a tensor of the kernel's own. An operation that is meant to work in place says `mutates=` in its Op.",
    ),
    "accuracy": Explanation(
        "Every element of the result lies inside the ball of the reference: its exact value and an error bound that is "
        "derived from the reference, the dtypes and the promises of the kernel.",
        "acc = tl.zeros((M, N), dtype=tl.float16)                  # a sum of 4,096 terms in half precision",
        "Accumulate and compute in float32 and round once, at the store; ask for `input_precision='ieee'` in float32 "
        "dots. Where less is intended, declare it as a promise (`dot='tf32'`), which widens the bound accordingly.",
    ),
    "special_values": Explanation(
        "NaN, infinity and zero appear where torch has them, unless the kernel promises otherwise.",
        "m = tl.max(x, axis=0)                                     # drops NaN: torch.max keeps it",
        "Propagate NaN as torch does (`tl.max(..., propagate_nan=...)`, `tl.maximum(..., tl.PropagateNan.ALL)`), "
        "subtract the maximum before `exp`, and mask padding with the neutral value, not with 0.",
    ),
    "metadata": Explanation(
        "Number, shape, dtype and device of the results are those of the reference.",
        "out = torch.empty(x.shape)                                # float32 for every input, on the CPU",
        "Allocate with `torch.empty_like(x)`, or pass `dtype=x.dtype, device=x.device`; return the reference's shape, "
        "also for empty axes and keepdim.",
    ),
    "races": Explanation(
        "No element is written by two programs, or read by one after another wrote it, except by atomics.",
        "tl.store(out_ptr, partial)                                # each program stores its part of one sum",
        "Let each program own its elements; add partial results with `tl.atomic_add` into zeros, or in a second "
        "launch. In CUDA, put `__syncthreads()` between a write to shared memory and the reads, and before the next.",
    ),
    "offsets": Explanation(
        "No offset overflows 32 bits and no launch exceeds the limits of a grid.",
        "ptr = x_ptr + tl.program_id(0) * stride                   # 32-bit product: wraps beyond 2**31 elements",
        "Widen before multiplying: `tl.program_id(0).to(tl.int64) * stride` (`size_t` or `int64_t` in CUDA).",
    ),
    "determinism": Explanation(
        "The same call gives the same bits, also when the programs run in another order.",
        "tl.atomic_add(out_ptr + cols, partial)                    # floating-point sums depend on who comes first",
        "Reduce in a fixed order: one program per output, or partial results in a buffer and a second launch. Where "
        "atomics are intended, promise `deterministic=False`.",
    ),
    "layouts": Explanation(
        "A strided, offset or expanded input gives the bits that its contiguous copy gives.",
        "x_ptr + row * n_cols + cols                               # the number of columns taken for the row stride",
        "Pass `x.stride(0)`, `x.stride(1)` and use them, or refuse such tensors with an error (then promise "
        "`layouts=`), or take `x.contiguous()` in the launcher.",
    ),
    "batch_invariance": Explanation(
        "A row alone has the bits that it has in any batch.",
        "BLOCK = 1024 if rows > 64 else 256                        # another summation order for other batch sizes",
        "Choose block sizes and splits from the size of the row only, never from the number of rows. Where speed needs "
        "it, promise `batch_invariant=False`.",
    ),
    "configs": Explanation(
        "Every config of an autotuned kernel agrees with the reference, in the first (tuning) call too; on a GPU a "
        "kernel that is not tuned does so with any number of warps and stages.",
        "@triton.autotune(configs, key=['n'])                      # tuning runs each config on the same accumulator",
        "Declare what a run changes: `reset_to_zero=[...]` or `restore_value=[...]`; check that no config assumes a "
        "size that its BLOCK does not divide.",
    ),
    "relations": Explanation(
        "The relations of the op hold: for example, softmax does not change when a constant is added to a row.",
        "e = tl.exp(x)                                             # no maximum subtracted: softmax(x + 100) is NaN",
        "Look at the two calls in the finding: they should agree, and the one that is wrong alone tells where to look.",
    ),
    "agreement": Explanation(
        "Two kernels of one op agree within the sum of their bounds.",
        "float s = 0; for (int i = t; i < n - 1; i += 32)          # the CUDA twin leaves the last column out",
        "The finding says with which of the two torch sides; repair the other one.",
    ),
    "parity": Explanation(
        "A kernel gives on a GPU what it gives in the interpreter, within the bounds of both.",
        "acc = tl.dot(a, b, acc)                                   # TF32 on a GPU, float32 in the interpreter",
        "One of the two is outside the ball of the reference: the finding says which. Ask for "
        "`input_precision='ieee'`, or look for a race, which the interpreter's order hides.",
    ),
    "refusals": Explanation(
        "What the kernel does not support is refused with a clear error before any launch, and never computed wrong.",
        "def softmax(x): ...                                       # float64 input: garbage, no error",
        "Check shapes, dtypes and devices at the top of the launcher and raise ValueError or TypeError that says what "
        "is accepted. Declare the limits as promises (`dtypes=`, `layouts=`, `limits=`).",
    ),
    "exact": Explanation(
        "On small integers, where every order of operations is exact, the result is bitwise right.",
        "offs_k = tl.arange(0, BLOCK_K)  # not advanced in the loop: one tile counted k times",
        "An objection here is no rounding: an element is missing, counted twice, or taken from another place. Look at "
        "the picture of the wrong elements first.",
    ),
    "crash": Explanation(
        "The kernel returns: it does not raise on a call that the op allows, end the process, or run for ever.",
        "BLOCK = triton.next_power_of_2(n_cols)                    # 0 for no columns: tl.arange refuses it",
        "Handle empty and one-element axes in the launcher; refuse what is not supported with ValueError or TypeError.",
    ),
}

LAUNCH = ("bounds", "written", "inputs_kept", "accuracy", "special_values", "metadata", "races", "offsets")


def explain(oracle: str) -> str:
    """The explanation of an oracle as text. Raises KeyError for an unknown id."""
    explanation = ORACLES[oracle]
    kind = "judges one launch, under the id [launch]" if oracle in LAUNCH else f"has the id [{oracle}]"
    if oracle == "offsets":  # of huge strides and long axes, which `launch` does not draw
        kind += f", and has the id [{oracle}] too"
    return (
        f"{oracle}  ({kind})\n\nLaw\n  {explanation.law}\n\nA fault that it finds\n  {explanation.fault}\n\n"
        f"Repair\n  {explanation.repair}\n"
    )
