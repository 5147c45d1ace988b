"""How large the generated world is."""

from workflow_scripts.settings.section import Count, Section


class Miniature(Section):
    items: Count = 200
    """Test items of each generated task."""
