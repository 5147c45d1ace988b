"""What the rules of the chunking study are given: plans, by name, and how they are measured."""


def perplexity_settings(wildcards):
    row = model_row(wildcards)
    plans = SETTINGS.chunking.measures.perplexity_plans(row.model, row.layers)
    return {"plans": plans} | perplexity_measures()


def perplexity_need(wildcards):
    return PLANNER.perplexity(wildcards.model, len(perplexity_settings(wildcards)["plans"]))


def latency_need(wildcards):
    return PLANNER.latency(wildcards.model, len(latency_settings(wildcards)["plans"]))


def perplexity_measures():
    measures = SETTINGS.chunking.measures
    return {
        **measures.model_dump(include={"window", "stride", "responses"}),
        "difficulties": list(measures.difficulties),
        "compute": COMPUTE,
        "batch_size": SETTINGS.compute.batch_size,
        "threads": SETTINGS.compute.threads,
        "seed": SETTINGS.seed,
    }


def latency_settings(wildcards):
    row, measures = model_row(wildcards), SETTINGS.chunking.measures
    return {
        "plans": measures.latency_plans(row.model, row.layers),
        "batch_sizes": list(measures.batch_sizes),
        **measures.model_dump(include={"questions", "new_tokens", "repeats"}),
        "compute": COMPUTE,
        "threads": SETTINGS.compute.threads,
        "seed": SETTINGS.seed,
    }
