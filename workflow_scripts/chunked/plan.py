"""The plans of chunked models. They live in core, where the settings check them without torch."""

from workflow_scripts.core.plan import DEFAULT_MODE, ChunkPlan, Mode, chunk_plan

__all__ = ["DEFAULT_MODE", "ChunkPlan", "Mode", "chunk_plan"]
