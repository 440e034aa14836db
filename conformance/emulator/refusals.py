"""What a compiler's complaint about a CUDA text means for its author."""

from __future__ import annotations

import re

from conformance.emulator.source import place, without_comments
from conformance.emulator.toolchain import CompileError, NotModelled

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


def refusal(complaint: str, text: str) -> CompileError:
    """The error for a compiler's complaint: `NotModelled`, in a sentence, where it is about what the emulator lacks."""
    if missing := _MISSING.search(complaint):
        header = missing[1]
        if _NOT_MODELLED.search(header):
            return _not_modelled(f"the emulator does not model <{header}> (docs/cuda.md says what it models)")
        return CompileError(f"{header} is in no folder that the options name with -I\n{complaint}")
    if any(word in complaint for word in ("Assembler messages", "‘asm’", "constraint")):
        plain = without_comments(text)
        statements = list(_ASM.finditer(plain))
        if statements:
            meant = (each for each in statements if _complains_of(complaint, text, plain, each))
            at = next(meant, statements[0]).start()
            file, line = place(text, at)
            advice = "give the device function a second body under #ifdef CONFORMANCE_EMULATOR (docs/cuda.md shows it)"
            instruction = _instruction(plain[at:])
            return _not_modelled(f"inline PTX `{instruction}` ({file}:{line}): {advice}{_instead(instruction)}")
    if unknown := _UNKNOWN.search(complaint):
        name = unknown[1] or unknown[2]
        return _not_modelled(f"the emulator does not model {name} (docs/cuda.md says what it models)")
    return CompileError(complaint)


def _not_modelled(why: str) -> NotModelled:
    return NotModelled(f"cannot be judged on a CPU: {why}")


def _complains_of(complaint: str, text: str, plain: str, statement: re.Match[str]) -> bool:
    """Whether the compiler names the line of the asm statement, or the assembler its instruction."""
    file, line = place(text, statement.start())
    word = re.match(r"[\w.]+", _instruction(plain[statement.start() :]))
    return bool(re.search(rf"{re.escape(file)}:{line}:\d+: error", complaint)) or (
        word is not None and f"`{word[0]}" in complaint
    )


def _instruction(asm: str) -> str:
    """The first instruction of an asm statement.

    >>> _instruction('asm volatile("{ @p bar.sync %0, %1;}" :: "r"(id), "r"(threads) : "memory");')
    'bar.sync %0, %1;'
    """
    found = re.search(r'"[\s{]*(?:\.reg[^;]*;\s*)*(?:@\S+\s+)?((?:[^"\\;]|\\\\.)*;?)', asm)
    return found[1].strip() if found else ""


def _instead(instruction: str) -> str:
    """What stands for an instruction, where anything does.

    >>> _instead("bar.sync %0, %1;")
    '; in its place: emu_bar_sync(id, threads)'
    """
    return next((f"; in its place: {names}" for pattern, names in _INSTEAD if re.match(pattern, instruction)), "")
