"""Draw Snakemake's DAG with a box a rule and how many jobs it stands for, not a box a job.

    snakemake results/tables/harmony_scores.md --dag | python -m workflow_scripts.bridge.draw_dag | dot -Tsvg > dag.svg

Standard library alone, so that it starts at once.
"""

import re
import sys
from collections import Counter

_NODE = re.compile(r'^\s*(\d+)\[label = "(.*?)", color = "(.*?)", style="(.*?)"\];$')
_EDGE = re.compile(r"^\s*(\d+) -> (\d+)\s*;?$")
_DONE = "dashed"  # how Snakemake draws a job that need not run


def collapsed(dag: str) -> str:
    """The DOT text of a DAG of jobs as that of its rules: jobs, jobs to run, edges with their numbers."""
    rule_of: dict[str, str] = {}
    colours: dict[str, str] = {}
    jobs, waiting = Counter[str](), Counter[str]()
    edges = Counter[tuple[str, str]]()
    for line in dag.splitlines():
        if node := _NODE.match(line):
            job, label, colour, style = node.groups()
            rule = label.split(r"\n", 1)[0]
            rule_of[job] = rule
            jobs[rule] += 1
            waiting[rule] += _DONE not in style
            colours.setdefault(rule, colour)
        elif edge := _EDGE.match(line):
            edges[edge[1], edge[2]] += 1
    if not jobs:
        raise ValueError("there is no job in it")
    between = Counter[tuple[str, str]]()
    for (first, second), times in edges.items():
        between[rule_of[first], rule_of[second]] += times
    lines = [
        "digraph jobs {",
        "    graph [rankdir=TB, bgcolor=white, margin=0.1];",
        '    node [shape=box, style=rounded, fontname=sans, fontsize=11, penwidth=2, margin="0.15,0.08"];',
        "    edge [color=grey40, fontname=sans, fontsize=9, fontcolor=grey30];",
    ]
    for rule, many in jobs.items():
        style = "rounded" if waiting[rule] else "rounded,dashed"
        lines.append(
            f'    "{rule}" [label="{rule}\\n{_said(many, waiting[rule])}", color="{colours[rule]}",'
            f' style="{style}"];'
        )
    for (first, second), many in between.items():
        label = f' [label=" {many:,}"]' if many > 1 else ""
        lines.append(f'    "{first}" -> "{second}"{label};')
    return "\n".join([*lines, "}", ""])


def _said(jobs: int, waiting: int) -> str:
    total = f"{jobs:,} job{'s' if jobs > 1 else ''}"
    if waiting == jobs:
        return f"{total} to run"
    return f"{total}, {waiting:,} to run" if waiting else f"{total}, done"


def main() -> None:
    try:
        sys.stdout.write(collapsed(sys.stdin.read()))
    except ValueError as problem:
        sys.exit(
            f"What came in is no DAG of Snakemake: {problem}. Expected: snakemake TARGET --dag | python"
            " -m workflow_scripts.bridge.draw_dag | dot -Tsvg > dag.svg"
        )


if __name__ == "__main__":
    main()
