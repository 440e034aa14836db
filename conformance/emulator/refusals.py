"""What a compiler's complaint about a CUDA text means for its author."""

from __future__ import annotations

import re

from conformance.emulator.source import without_comments

# Headers of what docs/cuda.md lists as not modelled.
_NOT_MODELLED = re.compile(
    r"^(?:cub|thrust|cuda|cute|cutlass|cupy)/|^(?:curand|cufft|cublas|cusparse|cudnn|nccl|cuda_fp[468]|texture|surface|cuda_awbarrier)"
)
_MISSING = re.compile(r"fatal error: ([^:\n]+): No such file")
_ASM = re.compile(r"\b(?:asm|__asm__?|__asm)\b\s*(?:volatile|__volatile__)?\s*\(")
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
            return f"inline PTX (line {line}) cannot run on the CPU: {advice}\n{complaint}"
    if unknown := _UNKNOWN.search(complaint):
        name = unknown[1] or unknown[2]
        return f"the emulator does not model {name} (docs/cuda.md says what it models)\n{complaint}"
    return complaint
