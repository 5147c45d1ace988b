"""Build an example training record for tests."""

from tests.records import record_fields
from workflow_scripts.core.training_record import TrainingRecord, TrainingSpeed, TrainingStep
from workflow_scripts.settings.training_keys import TrainingKeys
from workflow_scripts.training.requests import StageRequest


def make_training_record(*, base: str, trained: str) -> TrainingRecord:
    fields = record_fields(model=trained)
    untrained = fields["model"].model_copy(update={"id": base})
    request = StageRequest(
        id=trained,
        recipe="mine",
        keys=TrainingKeys(),
        validation=0.1,
        seed=0,
        device="cpu",
        attention="auto",
        threads=1,
    )
    return TrainingRecord(
        base=untrained,
        trained=fields["model"].model_copy(update={"stages": ("cpt",)}),
        request=request.to_params(),
        data={},
        report={"trained_parameters": 1200},
        facts={"steps": 20, "tokens": 4000},
        selected={"step": 10},
        curve=tuple(
            TrainingStep(step=step, epoch=step / 20, loss=loss, held_out={"loss": loss + 0.1})
            for step, loss in ((10, 2.0), (20, 2.5))
        ),
        provenance=fields["provenance"],
        volatile=fields["volatile"],
        speed=TrainingSpeed(went_on_from_step=0, seconds=1.0, tokens_per_second=None),
    )
