"""The GPU lane: fenced memory, isolated launches, compile cost, placement of workers, the sanitizer."""
