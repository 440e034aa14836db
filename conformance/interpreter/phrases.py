"""Phrases: what one function of Triton's language asks the builder for, remembered by the types of its arguments.

`a + b` passes a hundred Python calls of Triton's semantic layer before the builder is asked to broadcast, to cast and
to add. What it asks depends on the types of the tensors and on the values of everything else, and never on the numbers
in a tensor. So the requests are noted when a function is called for the first time with such types, and made again, to
the same builder, when it is called with such types once more. A recording costs a fifth of what it would.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import triton.language as tl
import triton.runtime.interpreter as stock

from conformance.interpreter.builder import Builder
from conformance.interpreter.tape import Handle

# phrases that are kept; all the shipped kernels and faults together make about a thousand
_MOST = 20_000
# these run code of the kernel's author, print, or read the arguments' values
_EXCLUDED = frozenset(
    {
        "associative_scan", "device_print", "inline_asm_elementwise", "map_elementwise", "reduce", "static_assert",
        "static_print",
    }
)  # fmt: skip

_CONSTANTS = (int, str, bool, type(None))
Key = Any
Places = tuple[tuple[int, int], ...]  # of handles in the arguments of a request: position, number


class _Unknown(Exception):
    """An argument, a request or a result whose kind has no place in a phrase."""


class _New:
    """A tensor of the result: the number of its handle, and its attributes beside that."""

    __slots__ = ("attributes", "number")

    def __init__(self, number: int, attributes: dict[str, Any]) -> None:
        self.number, self.attributes = number, attributes


class _Phrase:
    """The requests of one function, (method, arguments, keywords, positions of handles), and how its result is made."""

    __slots__ = ("requests", "result")

    def __init__(self, requests: list[tuple[str, list[Any], dict[str, Any], Places]], result: Any) -> None:
        self.requests, self.result = requests, result

    def __call__(self, builder: Builder, handles: list[Handle]) -> Any:
        """The result for other handles of the same types."""
        for name, template, keywords, places in self.requests:
            arguments = template.copy()
            for position, number in places:
                arguments[position] = handles[number]
            made = getattr(builder, name)(*arguments, **keywords)
            if type(made) is tuple:
                handles.extend(made)
            else:
                handles.append(made)
        return _made(self.result, handles)


def _made(plan: Any, handles: list[Handle]) -> Any:
    if type(plan) is _New:
        result = tl.tensor.__new__(tl.tensor)
        result.__dict__.update(plan.attributes)
        result.handle = handles[plan.number]
        return result
    if type(plan) in (tuple, list):
        return type(plan)([_made(item, handles) for item in plan])
    return plan


class _Listener:
    """The builder for Triton's eyes: passes everything on and notes the requests."""

    def __init__(self, builder: Builder, numbers: dict[int, int]) -> None:
        self._builder, self._numbers = builder, numbers
        self._kept: list[Any] = []  # what is noted by its identity must live as long
        self._count = len(numbers)
        self.requests: list[Any] = []
        self.strange = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._builder, name)
        if not callable(found):
            return found

        def request(*args: Any, **kwargs: Any) -> Any:
            made = found(*args, **kwargs)
            if not isinstance(made, (Handle, tuple, type(None))):
                return made  # a type
            template, places = list(args), []
            for position, argument in enumerate(args):
                if isinstance(argument, Handle):
                    template[position] = None
                    places.append((position, self._numbers.get(id(argument), -1)))
                elif isinstance(argument, (list, tuple)) and any(isinstance(a, Handle) for a in argument):
                    self.strange = True
            if any(number < 0 for _, number in places) or any(isinstance(v, Handle) for v in kwargs.values()):
                self.strange = True
            self.requests.append((name, template, kwargs, tuple(places)))
            for handle in made if isinstance(made, tuple) else (made,):
                self._kept.append(handle)
                self._numbers.setdefault(id(handle), self._count)
                self._count += 1
            return made

        return request


class Phrases:
    """The phrases of a process."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder
        self._known: dict[Key, _Phrase | None] = {}
        self._tokens: dict[Any, object] = {}
        self._listening = False

    def install(self) -> None:
        """Put the memory before every function of Triton's language."""
        for owner in (tl, tl.core, tl.math, tl.tensor):
            for name, member in list(vars(owner).items()):
                # the language is patched already: its functions hold Triton's own one as a default
                own = (getattr(member, "__kwdefaults__", None) or {}).get("member")
                if own is not None and tl.core.is_builtin(own) and name not in _EXCLUDED:
                    setattr(owner, name, self._remembered(name, member))

    def _remembered(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        tensor = tl.tensor

        def call(*args: Any, **kwargs: Any) -> Any:
            if self._listening:
                return function(*args, **kwargs)
            handles: list[Handle] = []
            key: list[Any] = [name]
            try:
                for argument in args:
                    if type(argument) is tensor:
                        handles.append(argument.handle)
                        key.append(self._token(argument.type))
                    else:
                        key.append(self._key(argument, handles))
                if kwargs:
                    for keyword, argument in kwargs.items():
                        if keyword != "_semantic":
                            key.append((keyword, self._key(argument, handles)))
                whole = tuple(key)
                if len(handles) > 1 and len(set(map(id, handles))) != len(handles):
                    whole = (*whole, *map([id(h) for h in handles].index, map(id, handles)))
            except _Unknown:
                return function(*args, **kwargs)
            phrase = self._known.get(whole)
            if phrase is not None:
                return phrase(self.builder, handles)
            if whole in self._known:
                return function(*args, **kwargs)
            return self._listen(whole, function, args, kwargs, handles)

        call.__name__ = name
        call.signature = getattr(function, "signature", None)  # type: ignore[attr-defined]
        return call

    def _listen(
        self,
        key: Key,
        function: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        handles: list[Handle],
    ) -> Any:
        """The function's result; its requests become the phrase of the key, None where they do not tell everything."""
        numbers: dict[int, int] = {}
        for number, handle in enumerate(handles):
            numbers.setdefault(id(handle), number)
        listener = _Listener(self.builder, numbers)
        listener._count = len(handles)
        recording = self.builder.recording
        asked = recording.asked
        self._listening, stock.interpreter_semantic.builder = True, listener
        try:
            result = function(*args, **kwargs)
        finally:
            self._listening, stock.interpreter_semantic.builder = False, self.builder
        phrase: _Phrase | None = None
        with contextlib.suppress(_Unknown):
            if not listener.strange and recording.asked == asked:
                phrase = _Phrase(listener.requests, self._plan(result, numbers))
        if len(self._known) > _MOST:
            self._known.clear()
        self._known[key] = phrase
        return result

    def _plan(self, result: Any, numbers: dict[int, int]) -> Any:
        if type(result) is tl.tensor:
            number = numbers.get(id(result.handle))
            if number is None:
                raise _Unknown
            self._token(result.type)
            return _New(number, {k: v for k, v in result.__dict__.items() if k != "handle"})
        if type(result) in (tuple, list):
            return type(result)([self._plan(item, numbers) for item in result])
        if result is None or type(result) in _CONSTANTS:
            return result
        raise _Unknown

    def _key(self, value: Any, handles: list[Handle]) -> Key:
        """The part of the key for an argument; handles of tensors in it are added to the list."""
        kind = type(value)
        if kind in _CONSTANTS:
            return kind, value
        if kind is tl.tensor:
            handles.append(value.handle)
            return self._token(value.type)
        if kind is float:
            return kind, repr(value)  # -0.0 == 0.0, and NaN != NaN
        if kind is tl.constexpr:
            return kind, self._key(value.value, handles)
        if kind in (tuple, list):
            return (kind, *[self._key(item, handles) for item in value])
        if kind is slice and value == slice(None):
            return kind
        if isinstance(value, tl.dtype):
            return tl.dtype, self._token(value)
        raise _Unknown

    def _token(self, dtype: Any) -> object:
        """One object for all equal types."""
        token = dtype.__dict__.get("conformance_token")
        if token is None:
            token = dtype.conformance_token = self._tokens.setdefault(self._structure(dtype), object())
        return token

    def _structure(self, dtype: Any) -> Key:
        kind = type(dtype)
        if kind is tl.dtype:
            return kind, dtype.name
        if kind is tl.pointer_type:
            return kind, self._token(dtype.element_ty), dtype.address_space, bool(dtype.const)
        if kind is tl.block_type:
            return kind, self._token(dtype.element_ty), tuple(dtype.shape)
        raise _Unknown
