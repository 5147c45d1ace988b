"""Write the card and the manifest of a generated folder, as for a folder fetched from the hub."""

from pathlib import Path
from typing import Any

from workflow_scripts.hub.manifest import seal

LICENCE = "apache-2.0"


def finish_repository(
    folder: Path,
    repository: str,
    text: str,
    header: str | None = None,
    *,
    licence: str = LICENCE,
    **facts: Any,
) -> None:
    """Write the card of a folder, and then its manifest, after all other files."""
    header = header or f"license: {licence}\n"
    card = f"---\n{header}---\n\n# {repository}\n\n{text}"
    (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
    seal(folder, source="miniature", repository=repository, revision=None, licence=licence, **facts)
