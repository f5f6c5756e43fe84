"""The command line."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from evenhand import __version__


def main(args: Sequence[str] | None = None) -> None:
    """Runs a command line, and exits with its code."""
    words = list(sys.argv[1:] if args is None else args)
    if words in (["--version"], ["-V"]):  # scripts ask often: not worth importing anything
        sys.stdout.write(f"evenhand {__version__}\n")
        return
    code = _run(words)
    sys.stdout.flush()
    sys.exit(code)


def _run(words: list[str]) -> int:
    import click  # noqa: PLC0415 (imported once it is known what is asked)

    from evenhand.cli.exits import INTERRUPTED, OUR_FAULT, USAGE, code_of, complaint  # noqa: PLC0415 (see above)
    from evenhand.cli.verbs import evenhand  # noqa: PLC0415 (see above)
    from evenhand.core.errors import EvenhandError  # noqa: PLC0415 (see above)

    try:
        code = evenhand.main(args=words, prog_name="evenhand", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return USAGE
    except (click.Abort, KeyboardInterrupt):
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    except EvenhandError as error:
        sys.stderr.write(complaint(error))
        return code_of(error)
    except BrokenPipeError:  # `evenhand show | head`: the reader has seen enough
        import os  # noqa: PLC0415 (see above)

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except Exception:  # noqa: BLE001 (whatever is left is ours; a script must not take it for "trials failed")
        import traceback  # noqa: PLC0415 (see above)

        traceback.print_exc()
        sys.stderr.write(
            "evenhand: this is a fault of Evenhand's own, not of yours. What was received is kept: "
            "`evenhand resume` goes on. Please report the lines above.\n"
        )
        return OUR_FAULT
    return code if isinstance(code, int) else 0
