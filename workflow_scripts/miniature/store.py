"""Finish a generated folder as the hub would hold it: a card, and a manifest last."""

from pathlib import Path
from typing import Any

from workflow_scripts.hub.manifest import seal
from workflow_scripts.miniature.catalogue import ORGANISATION

LICENCE = "apache-2.0"


def finish_model(
    folder: Path,
    name: str,
    text: str,
    *,
    parameters: int,
    architecture: str,
    licence: str = LICENCE,
) -> None:
    """Write the card of a saved model, and its manifest after all of its files."""
    finish_repository(
        folder,
        f"{ORGANISATION}/{name}",
        f"license: {licence}\n",
        text,
        kind="model",
        licence=licence,
        parameters=parameters,
        architecture=architecture,
    )


def finish_repository(folder: Path, repository: str, header: str, text: str, **facts: Any) -> None:
    """Write the card of a folder, and its manifest after all of its files."""
    card = f"---\n{header}---\n\n# {repository}\n\n{text}"
    (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
    seal(folder, source="miniature", repository=repository, revision=None, **facts)
