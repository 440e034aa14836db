"""What a command says where it cannot do what was asked, in one message and with exit code 2."""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable
from typing import Any

import click

from conformance.startup import INTERRUPTED
from conformance.supervision import Leave

UNUSABLE = 2


class Unusable(click.ClickException):
    """The command cannot do what was asked: wrong use, or something missing here. Exit code 2."""

    exit_code = UNUSABLE


def clear_errors(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with errors that are meant for the user shown as one message; `--debug` shows all of them whole."""

    @functools.wraps(command)
    def guarded(*arguments: Any, **options: Any) -> None:
        from hypothesis.errors import InvalidArgument

        from conformance.device.address import NotImportable
        from conformance.device.isolation import IsolationError
        from conformance.op import OpError
        from conformance.runtime import RuntimeUnavailable
        from conformance.targets import TargetError

        meant = (TargetError, InvalidArgument, OpError, RuntimeUnavailable, IsolationError, NotImportable)
        debug = click.get_current_context().find_root().params.get("debug")
        try:
            command(*arguments, **options)
        except (click.ClickException, click.exceptions.Exit, Leave, BrokenPipeError):
            raise  # a broken pipe too: whoever reads has enough, as `| head`, and click ends without a word
        except SystemExit as error:  # of a module, a reference or an expression, whose code would pass for a verdict
            if debug:
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise Unusable(
                f"what was given calls sys.exit({error.code!r}) at {last.filename}:{last.lineno}: nothing was judged"
            ) from error
        except KeyboardInterrupt:
            if debug:
                raise
            click.echo("interrupted", err=True)
            raise Leave(INTERRUPTED) from None
        except OSError as error:
            if debug:
                raise
            raise Unusable(f"{error.filename}: {error.strerror}" if error.filename else str(error)) from error
        except (*meant, ValueError) as error:
            if debug:
                raise
            raise Unusable(str(error)) from error
        except Exception as error:
            if debug:
                raise
            last = traceback.extract_tb(error.__traceback__)[-1]
            raise Unusable(
                f"a fault of triton-conformance itself, not of the kernel: {type(error).__name__}: {error} "
                f"({last.filename}:{last.lineno}). `conformance --debug ...` shows the traceback; please report it"
            ) from error

    return guarded
