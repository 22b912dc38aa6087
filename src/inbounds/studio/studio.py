"""What the pages share: the folder, the worker processes, and a curator if there is one."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inbounds.studio.jobs import Job, JobQueue
from inbounds.studio.workspace import Workspace

if TYPE_CHECKING:
    from inbounds.curator.curator import Curator


@dataclass
class Studio:
    """A studio in a folder. curator, account: the curator that is asked, and for which account.

    current: the job that each browser tab shows now. releases: running releases by plan.
    """

    workspace: Workspace
    work: JobQueue = field(default_factory=JobQueue)
    curator: "Curator | None" = None
    account: str = ""
    current: dict[str, Job] = field(default_factory=dict)
    releases: dict[str, Job] = field(default_factory=dict)

    def ask_for(self, tab: str, job: Job) -> Job:
        """Show a job in a browser tab and return it; the job that the tab showed before is stopped."""
        before = self.current.get(tab)
        if tab and before is not None and before is not job:
            self.work.stop(before)
        if tab:
            self.current[tab] = job
        return job
