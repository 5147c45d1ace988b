"""Snakemake's notes of how each file was made, in .snakemake/metadata: damaged ones stop no run, failures leave them.

Snakemake passes over a note that is no JSON and says so; at other damage it would end in an error that names
no file. Of a failed job it notes parameters and inputs as if the job had made its outputs, which it removes: the
next run would take what was made of the older ones for up to date, since the loss of an input is no reason to run.
"""

import functools
import inspect

from workflow_scripts.bridge.terminal import say_error


def pass_over_damaged_metadata() -> None:
    """From now on, in this process."""
    from snakemake.persistence.file import FilePersistence

    # Once for a process: another run in it says its own damage.
    read = inspect.unwrap(FilePersistence._read_record)
    said = set[str]()

    @functools.wraps(read)
    def read_record(self, key: str):
        try:
            return read(self, key)
        except ValueError as error:  # bytes that are no text, values that mean nothing
            if key not in said:
                said.add(key)
                path = self._record_path(self._metadata_path, key)
                first_line = str(error).partition("\n")[0]
                say_error(
                    f"{path}, Snakemake's note of how {key} was made, is damaged and passed over"
                    f" ({first_line}); remove it to be told no more."
                )
            return None

    FilePersistence._read_record = read_record


def keep_notes_of_what_failed() -> None:
    """From now on, in this process: the note of an output stays that of the job that made it."""
    from snakemake.jobs import Job
    from snakemake.persistence.file import FilePersistence

    postprocess = inspect.unwrap(Job.postprocess)
    finished = inspect.unwrap(FilePersistence.finished)
    failed = set[int]()

    @functools.wraps(postprocess)
    async def ends(self, *arguments, error: bool = False, **options):
        (failed.add if error else failed.discard)(id(self))
        return await postprocess(self, *arguments, error=error, **options)

    @functools.wraps(finished)
    async def notes(self, job):
        if id(job) not in failed:
            return await finished(self, job)
        for file in job.output:
            self._unmark_incomplete(self._get_key(file))

    Job.postprocess, FilePersistence.finished = ends, notes
