"""The report: the story of each study with its numbers, figures and tables, on one page or as a paper."""

import json
from pathlib import Path
from typing import Any

from workflow_scripts.paper.chapters import chapters, read_sources
from workflow_scripts.paper.latex import write_paper
from workflow_scripts.paper.page import write_page
from workflow_scripts.paper.requests import Report
from workflow_scripts.paper.run import what_is_missing
from workflow_scripts.render.inputs import Inputs
from workflow_scripts.render.numbers import read_numbers


def report(inputs: Inputs, request: dict[str, Any], outputs: dict[str, Path]) -> None:
    wanted = Report.of(request)
    numbers = read_numbers(inputs.one("numbers"))
    about = json.loads(inputs.one("provenance").read_text(encoding="utf-8"))
    told, absent = chapters(numbers, inputs["tables"], inputs["figures"], wanted)
    missing = what_is_missing(numbers, absent)
    if "paper" in outputs:
        write_paper(outputs["paper"], told, numbers, about, missing)
    else:
        sources = read_sources(inputs.one("sources"))
        write_page(outputs["page"], told, numbers, about, missing, sources, wanted.links)
