"""What the pages share: the folder, the processes that work for them, and a curator if there is one."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from inbounds.studio.workspace import Workspace
from inbounds.workers import Job, JobQueue

if TYPE_CHECKING:
    from inbounds.curator.curator import Curator


@dataclass
class Studio:
    """A studio in a folder. curator, account: who is asked, if anybody, and for whom.

    current: what each tab of the browser is shown now. releases: those under way, by their plan.
    """

    workspace: Workspace
    work: JobQueue = field(default_factory=JobQueue)
    curator: "Curator | None" = None
    account: str = ""
    current: dict[str, Job] = field(default_factory=dict)
    releases: dict[str, Job] = field(default_factory=dict)

    def ask_for(self, tab: str, job: Job) -> Job:
        """Return the job that a page shows now; the one it showed before is stopped if nobody waits for it."""
        before = self.current.get(tab)
        if tab and before is not None and before is not job:
            self.work.stop(before)
        if tab:
            self.current[tab] = job
        return job
