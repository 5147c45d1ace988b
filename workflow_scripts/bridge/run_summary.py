"""Format the summary that a run prints at its end; without pandas, because the Snakefile imports it."""

import csv
import re
from collections.abc import Callable, Iterable
from pathlib import Path

from workflow_scripts.core.clean_text import clean_lines
from workflow_scripts.core.failed_cells import clear_failed_cells, list_failed_cells

_MAX_LINES = 12  # of scores
_MIN_STEPS = 50  # fewer training steps hardly change the scores
_SCORES = (("zero-shot", "value", "stderr"), ("fine-tuned", "trained_value", "trained_stderr"))
_RESULTS = {
    "results/report/index.html": "the report: all studies on one page",
    "results/figures": "the figures, as PDF and PNG",
    "results/tables": "the tables, as CSV, Markdown and TeX",
}
_FAILED_JOB = re.compile(
    r"^Error in rule (\w+)[:,].*?^\s+log: ([^\n]*?)(?: \(check|$)", re.S | re.M
)


def describe_success(since: float) -> str:
    """Describe the results written after `since`, the folders of results, and the failed cells."""
    lines = [""]
    for name, describe in _SUMMARIES.items():
        path = Path("results", name)
        if path.exists() and path.stat().st_mtime >= since:
            lines += describe(path)
    lines += [
        f"{path}: {description}" for path, description in _RESULTS.items() if Path(path).exists()
    ]
    return clean_lines("\n".join([*lines, *_report_failed_cells()]))


def _read_text(path: Path) -> list[str]:
    """Return the text that a target writes for the terminal."""
    return [path.read_text(encoding="utf-8")]


def _name_file(path: Path) -> list[str]:
    return [str(path)]


def _read_rows(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


def _describe_agreement(path: Path) -> list[str]:
    """Describe the agreement of the published scores in two sentences with confidence intervals."""
    table = _read_rows(path)
    rows = {
        (row["protocol"], row["statistic"]): row for row in table if row["measure"] == "kendall"
    }

    def format_agreement(protocol: str, statistic: str) -> str:
        row = rows[protocol, statistic]
        value, low, high = (float(row[key]) for key in ("value", "families_low", "families_high"))
        return f"{value:.3f} (95% CI over model families {low:.3f} to {high:.3f})"

    return [
        f"The rankings of {rows['direct', 'mean']['models']} published models by two tasks agree to a mean Kendall's"
        f" tau-b of {format_agreement('direct', 'mean')} zero-shot, and of"
        f" {format_agreement('train_before_test', 'mean')} after fine-tuning on each task.",
        "Fine-tuning before the test raises the agreement by"
        f" {format_agreement('train_before_test', 'difference_from_direct')}.",
        "",
    ]


def _describe_scores(path: Path) -> list[str]:
    """Describe each model's zero-shot and fine-tuned scores, and its predicted rank among published models."""
    rows = _read_rows(path)
    models = list(dict.fromkeys(row["model"] for row in rows))
    rows.sort(key=lambda row: models.index(row["model"]))
    lines = [_describe_score(row) for row in rows[:_MAX_LINES]]
    if len(rows) > _MAX_LINES:
        lines.append(f"and {len(rows) - _MAX_LINES} more: {path.with_suffix('.md')}")
    steps = [row["steps"] for row in rows if row["steps"] and not _is_miniature(row)]
    if any(float(number) < _MIN_STEPS for number in steps):
        lines.append(
            f"Fewer than {_MIN_STEPS} steps of training change little:"
            " raise max_training_items or epochs of the recipe."
        )
    panel = _read_rows(path.with_name("harmony_panel.csv"))
    # A model's last row counts.
    predictions = {row["model"] + row["variant"]: row for row in panel if row["rank"]}
    for label, row in predictions.items():
        if not _is_miniature(row):
            rank, best, worst = (float(row[key]) for key in ("rank", "best_rank", "worst_rank"))
            lines.append(
                f"{label}: predicted rank {rank:.0f} (95% interval {best:.0f} to {worst:.0f}) among the panel's"
                f" models (61 published ones unless harmony.panel names others), from {row['tasks']} of"
                f" {row['panel_tasks']} tasks, {row['protocol'].replace('_', '-')}"
            )
    return [*lines, ""]


def _is_miniature(row: dict[str, str]) -> bool:
    return row["model"].startswith("miniature/")


def _describe_score(row: dict[str, str]) -> str:
    texts = [
        f"{label} {float(row[name]):.3f}" + (f" ± {float(row[stderr]):.3f}" if row[stderr] else "")
        for label, name, stderr in _SCORES
        if row[name]
    ]
    if row["changed"]:
        steps, changed = float(row["steps"]), float(row["changed"])
        texts[-1] += f" ({steps:.0f} steps, {changed:.0%} of answers changed)"
    texts += [f"baseline {float(row['baseline']):.3f}"] if row["baseline"] else []
    return f"{row['model']}, {row['task']}: {', '.join(texts) or 'not measured'}"


# For each result file of a target, the function that formats it for the terminal.
_SUMMARIES: dict[str, Callable[[Path], list[str]]] = {
    "plan.txt": _read_text,
    "costs.txt": _read_text,
    "check_cluster.txt": _read_text,
    "requests/submitted.txt": _read_text,
    "compare.txt": _read_text,
    "explained_prompt.txt": _name_file,
    "explained_training.txt": _name_file,
    "tables/published_agreement.csv": _describe_agreement,
    "tables/harmony_scores.csv": _describe_scores,
}


def describe_failure(logs: Iterable[str]) -> str:
    """Describe the failed jobs with their logs, read from Snakemake's logs, and the failed cells."""
    text = "\n".join(Path(log).read_text(encoding="utf-8", errors="replace") for log in logs)
    failed = dict.fromkeys(f"  {rule}: {path}" for rule, path in _FAILED_JOB.findall(text))
    lines = [
        "",
        "Some jobs failed. Fix the cause and run the same command again; finished jobs are kept.",
        *(["Logs of failed jobs:", *failed] if failed else []),
        *_report_failed_cells(),
    ]
    return clean_lines("\n".join(lines))


def _report_failed_cells() -> list[str]:
    """Describe the failed cells, and remove their notes and records so that the next run retries them."""
    cells = [
        f"  {cell['record']}: {cell['reason']} ({cell['log']})" for cell in list_failed_cells()
    ]
    clear_failed_cells()
    return ["Failed cells, which the next run tries again:", *cells] if cells else []
