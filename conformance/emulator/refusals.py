"""What a compiler's complaint about a CUDA text means for its author."""

from __future__ import annotations

import re

from conformance.emulator.source import without_comments

# Headers of what docs/cuda.md lists as not modelled.
_NOT_MODELLED = re.compile(
    r"^(?:cub|thrust|cuda|cute|cutlass|cupy)/|^(?:curand|cufft|cublas|cusparse|cudnn|nccl|cuda_fp[46]|texture|surface|cuda_awbarrier)"
)
_MISSING = re.compile(r"fatal error: ([^:\n]+): No such file")
_ASM = re.compile(r"\b(?:asm|__asm__?|__asm)\b\s*(?:volatile|__volatile__)?\s*\(")
# What stands for an instruction in that body, or, where CUDA C++ has it, in place of the asm.
_INSTEAD = (
    (r"cp\.async\.bulk", "emu_tensor_copy for a two-dimensional box, with emu_mbarrier_wait"),
    (r"cp\.async", "__pipeline_memcpy_async, _commit and _wait_prior of <cuda_pipeline.h> (which a GPU has too)"),
    (r"(?:bar|barrier)(?:\.cta)?\.sync", "emu_bar_sync(id, threads)"),
    (r"(?:bar|barrier)(?:\.cta)?\.arrive", "emu_bar_arrive(id, threads)"),
    (r"mbarrier\.", "emu_mbarrier_init, _fence, _arrive and _wait"),
    (r"wgmma\.", "emu_wgmma, _fence, _commit and _wait"),
    (r"(?:mma|ldmatrix|stmatrix)\.", "nvcuda::wmma of <mma.h> (which a GPU has too)"),
    (r"ld\.global", "__ldg, __ldcs or __ldcg (which a GPU has too)"),
    (r"st\.global", "__stcs or __stcg (which a GPU has too)"),
    (r"(?:red|atom)\.", "atomicAdd and its like (which a GPU has too)"),
    (
        r"(?:ex2|lg2|rcp|rsqrt|tanh|sin|cos)\.approx",
        "exp2f, log2f, 1 / x, rsqrtf, tanhf, sinf or cosf (which a GPU has too)",
    ),
    (r"cvta\.to\.shared|cvta", "__cvta_generic_to_shared (which a GPU has too)"),
)
_UNKNOWN = re.compile(
    r"‘((?:tex|surf|cluster|this_cluster|__cluster|__nv|cuda|malloc|free|mbarrier|wgmma)\w*)’"
    r"|undefined reference to `(operator (?:new|delete))"
)


def explained(complaint: str, text: str) -> str:
    """The compiler's complaint, after a sentence on what the emulator lacks where that is the cause."""
    if missing := _MISSING.search(complaint):
        header = missing[1]
        if _NOT_MODELLED.search(header):
            return f"the emulator does not model <{header}> (docs/cuda.md says what it models)\n{complaint}"
        return f"{header} is in no folder that the options name with -I\n{complaint}"
    if any(word in complaint for word in ("Assembler messages", "‘asm’", "constraint")):
        plain = without_comments(text)
        if found := _ASM.search(plain):
            line = plain.count("\n", 0, found.start()) + 1
            advice = "give the device function a second body under #ifdef CONFORMANCE_EMULATOR (docs/cuda.md shows it)"
            instead = _instead(plain[found.start() :])
            return f"inline PTX (line {line}) cannot run on the CPU: {advice}{instead}\n{complaint}"
    if unknown := _UNKNOWN.search(complaint):
        name = unknown[1] or unknown[2]
        return f"the emulator does not model {name} (docs/cuda.md says what it models)\n{complaint}"
    return complaint


def _instead(asm: str) -> str:
    """What stands for the first instruction of an asm statement, where anything does.

    >>> _instead('asm volatile("bar.sync %0, %1;" :: "r"(id), "r"(threads) : "memory");')
    '; in its place: emu_bar_sync(id, threads)'
    """
    instruction = re.search(r'"[\s{]*(?:@\S+\s+)?((?:[^"\\\\]|\\\\.)*)', asm)
    for pattern, names in _INSTEAD:
        if instruction and re.match(pattern, instruction[1]):
            return f"; in its place: {names}"
    return ""
