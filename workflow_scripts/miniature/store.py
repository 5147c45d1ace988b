"""Write the card and the manifest of a generated folder, as for a folder fetched from the hub."""

from pathlib import Path
from typing import Any

import yaml

from workflow_scripts.hub.manifest import write_manifest

LICENCE = "apache-2.0"


def write_card_and_manifest(
    folder: Path, repository: str, text: str, header: dict[str, Any], **facts: Any
) -> None:
    """Write the card of a folder, with `header` as its metadata, and then the manifest, after all other files."""
    card = f"---\n{yaml.safe_dump(header, sort_keys=False)}---\n\n# {repository}\n\n{text}"
    (folder / "README.md").write_text(card, encoding="utf-8", newline="\n")
    facts |= {"source": "miniature", "revision": None, "licence": header["license"]}
    write_manifest(folder, repository=repository, **facts)
