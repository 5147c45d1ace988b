"""What the rule of served models is given."""


def served_name(wildcards):
    return f"{wildcards.org}/{wildcards.name}"


def served_source(wildcards):
    """What a server's model has here: all of it, where it is to be checked or lies here anyway."""
    name = served_name(wildcards)
    if SETTINGS.served[name].check or SETTINGS.model(name).source != "huggingface":
        return manifest_of("model", name)
    return f"{HUB}/submitted/{name}@default/metadata.json"


def served_data(wildcards):
    checked = SETTINGS.served[served_name(wildcards)].check
    return [manifest_of("dataset", QUESTIONS["mmlu"])] if checked else []
