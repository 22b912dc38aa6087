"""The command line: parse, call, print. One module per group of commands, one `app`.
Other packages add commands by entry points (`plugins`).

Exit codes: 0 done, 1 refused (not private, infeasible, too large), 2 misuse. Errors are one sentence;
--debug shows the traceback.
"""

# Importing a module registers its commands; this is the order in which --help lists them.
from inbounds.cli import release as _release  # noqa: F401, I001
from inbounds.cli import export as _export  # noqa: F401
from inbounds.cli import describe as _describe  # noqa: F401
from inbounds.cli import ledger as _ledger  # noqa: F401
from inbounds.cli import studio as _studio  # noqa: F401
from inbounds.cli import curator as _curator  # noqa: F401
from inbounds.cli import ask as _ask  # noqa: F401
from inbounds.cli import design as _design  # noqa: F401
from inbounds.cli import compare as _compare  # noqa: F401
from inbounds.cli import interpret as _interpret  # noqa: F401
from inbounds.cli import verify as _verify  # noqa: F401
from inbounds.cli import attack as _attack  # noqa: F401
from inbounds.cli import compose as _compose  # noqa: F401
from inbounds.cli import local as _local  # noqa: F401
from inbounds.cli import local_estimates as _local_estimates  # noqa: F401
from inbounds.cli.app import app, main

__all__ = ["app", "main"]
