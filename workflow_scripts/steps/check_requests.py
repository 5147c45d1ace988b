"""Check every request for the leaderboard before it costs anything.

In: of each submitted model the manifest, or what was fetched to check it. Out: a JSON list, an entry a
request, with the reason where it is refused and where its records and logs will lie.
"""

from pathlib import Path

from workflow_scripts.bridge.step import step


def main(
    checks: Path,
    *,
    plan: dict[str, dict],
    refused: dict[str, str],
    aside: dict[str, str],
    memory_mb: int,
    open_licences: list[str],
) -> None:
    from workflow_scripts.core.files import write_json
    from workflow_scripts.hub.submission import check
    from workflow_scripts.settings.requests import ASIDE, Request

    requests = {file: Request.model_validate(one["request"]) for file, one in plan.items()}
    sources = {file: Path(one["source"]) for file, one in plan.items()}
    verdicts = check(requests, sources, memory_mb=memory_mb, open_licences=open_licences)
    verdicts |= {file: {"reason": why} for file, why in refused.items()}
    verdicts |= {file: {"reason": why, "status": ASIDE} for file, why in aside.items()}
    unread = {"request": None, "row": None, "built": None, "records": {}, "logs": {}}
    entries = [
        {
            "file": file,
            **{key: plan.get(file, unread)[key] for key in unread},
            **verdicts[file],
        }
        for file in sorted(verdicts)
    ]
    write_json(checks, entries)


if "snakemake" in globals():
    with step(snakemake):
        main(Path(snakemake.output.checks), **snakemake.params.settings)
