"""How large the generated world is."""

from pydantic import Field

from workflow_scripts.settings.section import Section


class Miniature(Section):
    items: int = Field(200, ge=1)
    """Test items of each generated task."""
