"""The description of the shared folder as a Workflow Run RO-Crate 0.5, on RO-Crate 1.1."""

import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workflow_scripts.core.files import sha256_file, write_json
from workflow_scripts.core.records import Record
from workflow_scripts.settings.imports import SHARED_CRATE, SHARED_SCORES

_CRATE = "https://w3id.org/ro/crate/1.1"
_TERMS = {"sha256": "https://w3id.org/ro/terms/workflow-run#sha256"}
_PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
_FORMATS = {".md": "text/markdown", ".yaml": "application/yaml", ".tex": "text/x-tex"}
# Of each of core.provenance.PACKAGES.
HOMES = {
    "lm_eval": "https://github.com/EleutherAI/lm-evaluation-harness",
    "lighteval": "https://github.com/huggingface/lighteval",
    "transformers": "https://github.com/huggingface/transformers",
    "tokenizers": "https://github.com/huggingface/tokenizers",
    "datasets": "https://github.com/huggingface/datasets",
    "peft": "https://github.com/huggingface/peft",
    "flash-attn": "https://github.com/Dao-AILab/flash-attention",
    "torch": "https://pytorch.org/",
}
WORKFLOW = "workflow/Snakefile"
_LANGUAGE = "https://w3id.org/workflowhub/workflow-ro-crate#snakemake"
# Folders of files that say themselves what they are.
FOLDERS = {
    "records": "Records of what was measured, each a JSON file with its items in Parquet beside it.",
    SHARED_SCORES: "The same in the format of Every Eval Ever 0.3.0, a datastore's folder.",
    "hub": "What each model's repository on the Hugging Face hub can say of these scores.",
}


def write_crate(folder: Path, files: Mapping[str, str], records: Sequence[Record]) -> None:
    """`files` are those of the folder that stand by themselves, each with a sentence."""
    commits = sorted({one.provenance.code_commit or "unknown" for one in records})
    packages = sorted({pair for one in records for pair in one.provenance.packages.items()})
    parts = [_file(folder, name, about) for name, about in sorted(files.items())]
    parts += [
        {"@id": f"{name}/", "@type": "Dataset", "name": name, "description": about}
        for name, about in FOLDERS.items()
    ]
    results = [one for one in parts if not one["@id"].startswith("workflow/")]
    software = [
        {
            "@id": f"{HOMES[name]}#{number}",
            "@type": "SoftwareApplication",
            "name": name,
            "softwareVersion": number,
            "url": HOMES[name],
        }
        for name, number in packages
    ]
    run = {
        "@id": "#run",
        "@type": "CreateAction",
        "name": "The run that measured these records",
        "description": "Models were evaluated, some after training, and tables and figures made of their records.",
        "instrument": {"@id": WORKFLOW},
        "agent": {"@id": "#people"},
        "object": {"@id": "provenance.json"},
        "result": _refer(one for one in results if one["@id"] != "provenance.json"),
        "startTime": min(one.volatile.started for one in records),
        "endTime": max(one.volatile.finished for one in records),
        "actionStatus": "http://schema.org/CompletedActionStatus",
    }
    readme = next(one for one in parts if one["@id"] == "README.md")
    readme["about"] = {"@id": "./"}
    workflow = next(one for one in parts if one["@id"] == WORKFLOW)
    workflow |= {
        "@type": ["File", "SoftwareSourceCode", "ComputationalWorkflow"],
        "name": "Chorus",
        "programmingLanguage": {"@id": _LANGUAGE},
        "softwareRequirements": _refer(software),
        "version": ", ".join(commits),
    }
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": "Results of a run of Chorus",
        "description": (
            f"{len(records)} measurements of language models with their items, the tables and figures made of them,"
            " the config, and the versions of all code, models and data."
        ),
        "datePublished": max(one.volatile.finished for one in records),
        "license": "Not stated: whoever publishes this folder names one; models and data have their own.",
        "conformsTo": _refer({"@id": one} for one in _PROFILES),
        "mainEntity": {"@id": WORKFLOW},
        "mentions": {"@id": "#run"},
        "author": {"@id": "#people"},
        "hasPart": _refer(parts),
    }
    profiles = [
        {"@id": one, "@type": "CreativeWork", "name": name, "version": one.rpartition("/")[2]}
        for one, name in _PROFILES.items()
    ]
    language = {
        "@id": _LANGUAGE,
        "@type": "ComputerLanguage",
        "name": "Snakemake",
        "identifier": {"@id": "https://doi.org/10.1093/bioinformatics/bts480"},
        "url": {"@id": "https://snakemake.readthedocs.io"},
    }
    descriptor = {
        "@id": SHARED_CRATE,
        "@type": "CreativeWork",
        "conformsTo": _refer(
            [{"@id": _CRATE}, {"@id": "https://w3id.org/workflowhub/workflow-ro-crate/1.0"}]
        ),
        "about": {"@id": "./"},
    }
    people = {"@id": "#people", "@type": "Organization", "name": "Whoever ran the workflow"}
    graph = [descriptor, root, *parts, run, language, people, *software, *profiles]
    write_json(folder / SHARED_CRATE, {"@context": [f"{_CRATE}/context", _TERMS], "@graph": graph})


def _refer(entities: Any) -> list[dict[str, str]]:
    return [{"@id": one["@id"]} for one in entities]


def _file(folder: Path, name: str, about: str) -> dict[str, Any]:
    path = folder / name
    kind = _FORMATS.get(path.suffix) or mimetypes.guess_type(name)[0] or "text/plain"
    return {
        "@id": name,
        "@type": "File",
        "name": path.name,
        "description": about,
        "encodingFormat": kind,
        "contentSize": str(path.stat().st_size),
        "sha256": sha256_file(path),
    }
